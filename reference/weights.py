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


@dataclass(frozen=True)
class FeedForwardWeights:
    """The two matrices of a feed-forward network, for row vectors: y = x W + b.

    Shapes: w_1 (E, F), w_2 (F, E); b_1 (F,), b_2 (E,), each None where there is no bias.
    Raises: nothing; `feed_forward` checks the shapes.
    Source: Vaswani et al. 2017, section 3.3, equation 2.
    Conventions: torch's Linear stores the transpose, (out, in).
    """

    w_1: Float[Array, "E F"]
    w_2: Float[Array, "F E"]
    b_1: Float[Array, " F"] | None = None
    b_2: Float[Array, " E"] | None = None


@runtime_checkable
class HasFeedForwardWeights(Protocol):
    """Any object with the attributes of `FeedForwardWeights`."""

    @property
    def w_1(self) -> Float[Array, "E F"]:
        """First matrix."""

    @property
    def w_2(self) -> Float[Array, "F E"]:
        """Second matrix."""

    @property
    def b_1(self) -> Float[Array, " F"] | None:
        """First bias."""

    @property
    def b_2(self) -> Float[Array, " E"] | None:
        """Second bias."""


@dataclass(frozen=True)
class GatedFeedForwardWeights:
    """The three matrices of a gated feed-forward network, for row vectors; it has no biases.

    Shapes: w_gate (E, F), w_up (E, F), w_down (F, E).
    Raises: nothing; `gated_feed_forward` checks the shapes.
    Source: Shazeer 2020, section 2: W, V and W_2 there.
    Conventions: fused layouts, one (E, 2F) matrix, differ in which half is the gate; here they stand apart.
    """

    w_gate: Float[Array, "E F"]
    w_up: Float[Array, "E F"]
    w_down: Float[Array, "F E"]


@runtime_checkable
class HasGatedFeedForwardWeights(Protocol):
    """Any object with the attributes of `GatedFeedForwardWeights`."""

    @property
    def w_gate(self) -> Float[Array, "E F"]:
        """The matrix whose product is activated."""

    @property
    def w_up(self) -> Float[Array, "E F"]:
        """The matrix whose product is gated."""

    @property
    def w_down(self) -> Float[Array, "F E"]:
        """The last matrix."""
