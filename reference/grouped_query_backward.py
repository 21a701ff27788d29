"""The backward pass of grouped-query attention: query heads that share a key/value head add up their gradients."""

from __future__ import annotations

import numpy as np
from veriformer.reference.array_types import Array, Bool, Float, Float64
from veriformer.reference.attention_backward import scaled_dot_product_attention_backward
from veriformer.reference.checks import Sizes, as_axes, require_multiple
from veriformer.reference.conventions import CausalAlignment, WindowCounting
from veriformer.reference.windows import Window


def grouped_query_attention_backward(
    query: Float[Array, "B H L D"],
    key: Float[Array, "B G S D"],
    value: Float[Array, "B G S Dv"],
    grad_output: Float[Array, "B H L Dv"],
    *,
    mask: Bool[Array, "#B #H #L #S"] | Bool[Array, "#L #S"] | None = None,
    bias: Float[Array, "#B #H #L #S"] | Float[Array, "#L #S"] | None = None,
    is_causal: bool = False,
    scale: float | None = None,
    window: Window | None = None,
    softcap: float | None = None,
    sinks: Float[Array, " H"] | None = None,
    causal_alignment: CausalAlignment = "top_left",
    window_counting: WindowCounting = "inclusive",
) -> tuple[Float64[Array, "B H L D"], Float64[Array, "B G S D"], Float64[Array, "B G S Dv"]]:
    """Trace the gradient of a loss from the output of grouped attention back to queries, keys and values.

    dQ_h, dK_h, dV_h = attention_backward(Q_h, K_g, V_g, dO_h), g = h // (H/G),
    dK_g = Σ_(h in group g) dK_h, dV_g = Σ_(h in group g) dV_h

    A shared head is read by every query head of its group, and the gradients of all uses add up: they are no mean.

    Shapes: query (B, H, L, D), key (B, G, S, D), value (B, G, S, Dv), grad_output (B, H, L, Dv), mask and bias
    broadcastable to (B, H, L, S), window (left, right), sinks (H,); to (B, H, L, D), (B, G, S, D), (B, G, S, Dv).
    Raises: ValueError when H is not a multiple of G, else as `scaled_dot_product_attention_backward`.
    Source: Ainslie et al. 2023, section 2.2, by the chain rule.
    Conventions: kv_grouping, see `grouped_query_attention`; otherwise those of
    `scaled_dot_product_attention_backward`.
    """
    sizes: Sizes = {}
    query = as_axes("query", query, "B H L D", sizes)
    key = as_axes("key", key, "B G S D", sizes)
    value = as_axes("value", value, "B G S Dv", sizes)
    require_multiple("H, the number of query heads,", sizes["H"], "G, the number of key/value heads", sizes["G"])
    group_size = sizes["H"] // sizes["G"]
    grad_query, grad_keys, grad_values = scaled_dot_product_attention_backward(
        query,
        np.repeat(key, group_size, axis=1),
        np.repeat(value, group_size, axis=1),
        grad_output,
        mask=mask,
        bias=bias,
        is_causal=is_causal,
        scale=scale,
        window=window,
        softcap=softcap,
        sinks=sinks,
        causal_alignment=causal_alignment,
        window_counting=window_counting,
    )
    return grad_query, _summed(grad_keys, sizes["G"]), _summed(grad_values, sizes["G"])


def _summed(gradients: Float64[Array, "B H S X"], groups: int) -> Float64[Array, "B G S X"]:
    """Add up the gradients of the query heads of each group."""
    batch, heads, *rest = gradients.shape
    return np.asarray(gradients.reshape(batch, groups, heads // groups, *rest).sum(axis=2))
