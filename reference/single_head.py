"""Attention of one head: three projections, and attention between their results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from veriformer.reference.array_types import Array, Bool, Float, Float64
from veriformer.reference.attention import scaled_dot_product_attention
from veriformer.reference.checks import Sizes, as_axes
from veriformer.reference.conventions import EmptyRow


@dataclass(frozen=True)
class SingleHeadWeights:
    """The projections of one head, for row vectors: q = x W_Q, k = x W_K, v = x W_V; there are no biases.

    Shapes: w_q (E, D), w_k (E, D), w_v (E, Dv).
    Raises: nothing; `single_head_attention` checks the shapes.
    Source: Vaswani et al. 2017, section 3.2.2 (one of its heads, before they are concatenated).
    Conventions: torch's Linear stores the transpose, (out, in).
    """

    w_q: Float[Array, "E D"]
    w_k: Float[Array, "E D"]
    w_v: Float[Array, "E Dv"]


@runtime_checkable
class HasSingleHeadWeights(Protocol):
    """Any object with the attributes of `SingleHeadWeights`."""

    @property
    def w_q(self) -> Float[Array, "E D"]:
        """Query projection."""

    @property
    def w_k(self) -> Float[Array, "E D"]:
        """Key projection."""

    @property
    def w_v(self) -> Float[Array, "E Dv"]:
        """Value projection."""


def single_head_attention(
    x: Float[Array, "B L E"],
    weights: HasSingleHeadWeights,
    *,
    mask: Bool[Array, "#B #L #L"] | Bool[Array, "#L #L"] | None = None,
    empty_row: EmptyRow = "zeros",
) -> Float64[Array, "B L Dv"]:
    """Attend from every position to every position that it may see, in one learned subspace.

    output = softmax(x W_Q (x W_K)ᵀ / √D, over the visible positions) x W_V

    Shapes: x (B, L, E), weights as in `SingleHeadWeights`, mask (L, L) or of rank 3, broadcastable to (B, L, L), to
    (B, L, Dv).
    Raises: ValueError when a shape does not fit, TypeError when the mask is not boolean.
    Source: Vaswani et al. 2017, sections 3.2.1 and 3.2.2.
    Conventions: those of `scaled_dot_product_attention` that concern a mask.
    """
    x, known, of_heads = checked_single_head(x, weights, mask)
    query, key, value = ((x @ weight)[:, None] for weight in (known.w_q, known.w_k, known.w_v))
    return scaled_dot_product_attention(query, key, value, mask=of_heads, empty_row=empty_row)[:, 0]


def checked_single_head(
    x: Float[Array, "B L E"],
    weights: HasSingleHeadWeights,
    mask: Bool[Array, "#B #L #L"] | Bool[Array, "#L #L"] | None,
) -> tuple[Float64[Array, "B L E"], SingleHeadWeights, Bool[Array, "#B #H #L #L"] | Bool[Array, "#L #L"] | None]:
    """Return the sequence and the projections of one head in double precision, and the mask with an axis of heads.

    Shapes: as in `single_head_attention`; a mask of rank 3 gets a second axis.
    Raises: ValueError when a shape does not fit.
    Source: Vaswani et al. 2017, section 3.2.2.
    """
    sizes: Sizes = {}
    x = as_axes("x", x, "B L E", sizes)
    w_q = as_axes("w_q", weights.w_q, "E D", sizes)
    w_k = as_axes("w_k", weights.w_k, "E D", sizes)
    w_v = as_axes("w_v", weights.w_v, "E Dv", sizes)
    if mask is not None and mask.ndim not in (2, 3):
        raise ValueError(f"mask has shape {mask.shape}; give (L, L), or rank 3 that is broadcastable to (B, L, L)")
    return x, SingleHeadWeights(w_q, w_k, w_v), mask if mask is None or mask.ndim == 2 else mask[:, None]
