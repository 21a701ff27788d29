"""Grouped-query attention: several query heads share one key/value head."""

from __future__ import annotations

import numpy as np
from veriformer.reference.array_types import Array, Bool, Float, Float64
from veriformer.reference.attention import scaled_dot_product_attention
from veriformer.reference.checks import Sizes, as_axes, require_multiple
from veriformer.reference.conventions import CausalAlignment, EmptyRow, WindowCounting
from veriformer.reference.windows import Window


def grouped_query_attention(
    query: Float[Array, "B H L D"],
    key: Float[Array, "B G S D"],
    value: Float[Array, "B G S Dv"],
    *,
    mask: Bool[Array, "#B #H #L #S"] | Bool[Array, "#L #S"] | None = None,
    bias: Float[Array, "#B #H #L #S"] | Float[Array, "#L #S"] | None = None,
    is_causal: bool = False,
    scale: float | None = None,
    window: Window | None = None,
    softcap: float | None = None,
    sinks: Float[Array, " H"] | None = None,
    causal_alignment: CausalAlignment = "top_left",
    empty_row: EmptyRow = "zeros",
    window_counting: WindowCounting = "inclusive",
) -> Float64[Array, "B H L Dv"]:
    """Attend with H query heads to G key/value heads, each shared by H/G consecutive query heads.

    head_h = attention(Q_h, K_g, V_g), g = h // (H/G)

    G = H is multi-head attention, G = 1 multi-query attention.

    Shapes: query (B, H, L, D), key (B, G, S, D), value (B, G, S, Dv), mask and bias broadcastable to (B, H, L, S),
    sinks (H,), to (B, H, L, Dv).
    Raises: ValueError when H is not a multiple of G, else as `scaled_dot_product_attention`.
    Source: Ainslie et al. 2023, section 2.2; Shazeer 2019, section 3 (G = 1).
    Conventions: kv_grouping. Consecutive heads share in torch, jax, keras, ONNX and Hugging Face; x-transformers
    lets query head h read g = h mod G. Otherwise those of `scaled_dot_product_attention`.
    """
    sizes: Sizes = {}
    query = as_axes("query", query, "B H L D", sizes)
    key = as_axes("key", key, "B G S D", sizes)
    value = as_axes("value", value, "B G S Dv", sizes)
    require_multiple("H, the number of query heads,", sizes["H"], "G, the number of key/value heads", sizes["G"])
    group_size = sizes["H"] // sizes["G"]
    return scaled_dot_product_attention(
        query,
        np.repeat(key, group_size, axis=1),
        np.repeat(value, group_size, axis=1),
        mask=mask,
        bias=bias,
        is_causal=is_causal,
        scale=scale,
        window=window,
        softcap=softcap,
        sinks=sinks,
        causal_alignment=causal_alignment,
        empty_row=empty_row,
        window_counting=window_counting,
    )
