"""Multi-head attention: projections in, attention in every head, one projection out."""

from __future__ import annotations

import numpy as np
from veriformer.reference.array_types import Array, Bool, Float, Float64
from veriformer.reference.checks import Sizes, as_axes, require_count, require_multiple
from veriformer.reference.conventions import CausalAlignment, EmptyRow
from veriformer.reference.grouped_query import grouped_query_attention
from veriformer.reference.weights import HasMultiHeadWeights, MultiHeadWeights


def split_heads(x: Float[Array, "B L width"], num_heads: int) -> Float64[Array, "B {num_heads} L width//{num_heads}"]:
    """Cut each vector into consecutive blocks, one per head, and bring the heads before the length.

    heads[b, h, i, d] = x[b, i, h·D + d]

    Shapes: x (B, L, H·D) to (B, H, L, D).
    Raises: ValueError when the width is not a multiple of num_heads.
    Source: Vaswani et al. 2017, section 3.2.2 (the blocks are its separate projections W^h).
    """
    require_count("num_heads", num_heads, 1)
    numbers = as_axes("x", x, "B L H·D", {})
    batch, length, width = numbers.shape
    require_multiple("the width H·D", width, "num_heads", num_heads)
    return numbers.reshape(batch, length, num_heads, width // num_heads).swapaxes(1, 2)


def merge_heads(heads: Float[Array, "B H L Dv"]) -> Float64[Array, "B L H*Dv"]:
    """Put the heads of each position side by side: the inverse of `split_heads`.

    x[b, i, h·Dv + d] = heads[b, h, i, d]

    Shapes: heads (B, H, L, Dv) to (B, L, H·Dv).
    Raises: ValueError when the rank is not 4.
    Source: Vaswani et al. 2017, section 3.2.2, Concat(head_1, …, head_H).
    """
    numbers = as_axes("heads", heads, "B H L Dv", {})
    batch, num_heads, length, width = numbers.shape
    return numbers.swapaxes(1, 2).reshape(batch, length, num_heads * width)


def multi_head_attention(
    x: Float[Array, "B L E"],
    context: Float[Array, "B S E"],
    weights: HasMultiHeadWeights,
    *,
    num_heads: int,
    num_kv_heads: int | None = None,
    mask: Bool[Array, "#B #H #L #S"] | Bool[Array, "#L #S"] | None = None,
    is_causal: bool = False,
    causal_alignment: CausalAlignment = "top_left",
    empty_row: EmptyRow = "zeros",
) -> Float64[Array, "B L E"]:
    """Attend in several learned subspaces at once and mix what each head found.

    output = Concat(head_1, …, head_H) W_O + b_O
    head_h = attention(x W_Q^h + b_Q^h, c W_K^g + b_K^g, c W_V^g + b_V^g), g = h // (H/G), c = context

    Self-attention has context = x. An empty row's "zeros" are those of the heads: the output is then b_O.

    Shapes: x (B, L, E), context (B, S, E), weights as in `MultiHeadWeights`, mask (L, S) or of rank 4, broadcastable
    to (B, H, L, S), to (B, L, E).
    Raises: ValueError when H is not a multiple of G, a weight does not fit, else as `scaled_dot_product_attention`.
    Source: Vaswani et al. 2017, section 3.2.2; Ainslie et al. 2023, section 2.2 (G < H).
    Conventions: those of `grouped_query_attention`. torch.nn.MultiheadAttention has masks True at hidden keys.
    """
    num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads
    x, context, checked = checked_multi_head(x, context, weights, num_heads, num_kv_heads)
    heads = grouped_query_attention(
        split_heads(project(x, checked.w_q, checked.b_q), num_heads),
        split_heads(project(context, checked.w_k, checked.b_k), num_kv_heads),
        split_heads(project(context, checked.w_v, checked.b_v), num_kv_heads),
        mask=mask,
        is_causal=is_causal,
        causal_alignment=causal_alignment,
        empty_row=empty_row,
    )
    return project(merge_heads(heads), checked.w_o, checked.b_o)


def checked_multi_head(
    x: Float[Array, "B L E"],
    context: Float[Array, "B S E"],
    weights: HasMultiHeadWeights,
    num_heads: int,
    num_kv_heads: int,
) -> tuple[Float64[Array, "B L E"], Float64[Array, "B S E"], MultiHeadWeights]:
    """Return the vectors, the context and the weights of multi-head attention in double precision.

    Shapes: as in `multi_head_attention`, to the same.
    Raises: ValueError when H is not a multiple of G, or an array does not fit.
    Source: Vaswani et al. 2017, section 3.2.2.
    """
    sizes: Sizes = {}
    x = as_axes("x", x, "B L E", sizes)
    context = as_axes("context", context, "B S E", sizes)
    return x, context, _checked(weights, num_heads, num_kv_heads, sizes["E"])


def _checked(weights: HasMultiHeadWeights, num_heads: int, num_kv_heads: int, width: int) -> MultiHeadWeights:
    """Return the weights in double precision; ValueError when one does not fit E, H and G."""
    require_count("num_heads", num_heads, 1)
    require_count("num_kv_heads", num_kv_heads, 1)
    require_multiple("num_heads", num_heads, "num_kv_heads", num_kv_heads)
    sizes: Sizes = {"E": width}
    w_q = as_axes("w_q", weights.w_q, "E H·D", sizes)
    require_multiple("the width H·D of w_q", sizes["H·D"], "num_heads", num_heads)
    sizes["G·D"] = sizes["H·D"] // num_heads * num_kv_heads
    w_k = as_axes("w_k", weights.w_k, "E G·D", sizes)
    w_v = as_axes("w_v", weights.w_v, "E G·Dv", sizes)
    require_multiple("the width G·Dv of w_v", sizes["G·Dv"], "num_kv_heads", num_kv_heads)
    sizes["H·Dv"] = sizes["G·Dv"] // num_kv_heads * num_heads
    w_o = as_axes("w_o", weights.w_o, "H·Dv E", sizes)
    biases = {
        name: None if bias is None else as_axes(name, bias, axis, sizes)
        for name, bias, axis in (
            ("b_q", weights.b_q, "H·D"),
            ("b_k", weights.b_k, "G·D"),
            ("b_v", weights.b_v, "G·Dv"),
            ("b_o", weights.b_o, "E"),
        )
    }
    return MultiHeadWeights(w_q, w_k, w_v, w_o, **biases)


def project(
    x: Float[Array, "B L n"], weight: Float[Array, "n m"], bias: Float[Array, " m"] | None
) -> Float64[Array, "B L m"]:
    """Multiply every vector by a matrix, and add a bias where there is one.

    Shapes: x (B, L, n), weight (n, m), bias (m,), to (B, L, m).
    Raises: nothing; NumPy refuses what does not fit.
    Source: Vaswani et al. 2017, section 3.2.2.
    """
    # A padded position may hold infinity; the mask will hide the result.
    with np.errstate(invalid="ignore", over="ignore"):
        projected = x @ weight
        return np.asarray(projected if bias is None else projected + bias)
