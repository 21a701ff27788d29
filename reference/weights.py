"""The learned arrays of a layer, read by attribute."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from veriformer.reference.array_types import Array, Float


@dataclass(frozen=True)
class MultiHeadWeights:
    """The projections of multi-head attention, for row vectors: y = x W + b.

    Shapes: w_q (E, H·D), w_k (E, G·D), w_v (E, G·Dv), w_o (H·Dv, E); b_q (H·D,), b_k (G·D,), b_v (G·Dv,), b_o (E,),
    each None where there is no bias. Column block h of w_q, of width D, belongs to query head h, and likewise.
    Raises: nothing; `multi_head_attention` checks the shapes.
    Source: Vaswani et al. 2017, section 3.2.2 (without biases).
    Conventions: torch's Linear stores the transpose, (out, in); flax keeps the heads as an axis, (E, H, D).
    """

    w_q: Float[Array, "E HD"]
    w_k: Float[Array, "E GD"]
    w_v: Float[Array, "E GDv"]
    w_o: Float[Array, "HDv E"]
    b_q: Float[Array, " HD"] | None = None
    b_k: Float[Array, " GD"] | None = None
    b_v: Float[Array, " GDv"] | None = None
    b_o: Float[Array, " E"] | None = None


@runtime_checkable
class HasMultiHeadWeights(Protocol):
    """Any object with the attributes of `MultiHeadWeights`."""

    @property
    def w_q(self) -> Float[Array, "E HD"]:
        """Query projection."""

    @property
    def w_k(self) -> Float[Array, "E GD"]:
        """Key projection."""

    @property
    def w_v(self) -> Float[Array, "E GDv"]:
        """Value projection."""

    @property
    def w_o(self) -> Float[Array, "HDv E"]:
        """Output projection."""

    @property
    def b_q(self) -> Float[Array, " HD"] | None:
        """Query bias."""

    @property
    def b_k(self) -> Float[Array, " GD"] | None:
        """Key bias."""

    @property
    def b_v(self) -> Float[Array, " GDv"] | None:
        """Value bias."""

    @property
    def b_o(self) -> Float[Array, " E"] | None:
        """Output bias."""
