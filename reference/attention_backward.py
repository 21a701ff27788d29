"""The backward passes of scaled dot-product attention and of its weights."""

from __future__ import annotations

import numpy as np
from veriformer.reference.array_types import Array, Bool, Float, Float64
from veriformer.reference.attention import attention_logits, visible_keys, weighted_sum
from veriformer.reference.checks import Sizes, as_axes
from veriformer.reference.conventions import CausalAlignment, WindowCounting
from veriformer.reference.sinks import softmax_beside_sinks
from veriformer.reference.softcap import soft_cap_slope
from veriformer.reference.softmax import masked_softmax
from veriformer.reference.windows import Window


def scaled_dot_product_attention_backward(
    query: Float[Array, "B H L D"],
    key: Float[Array, "B H S D"],
    value: Float[Array, "B H S Dv"],
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
) -> tuple[Float64[Array, "B H L D"], Float64[Array, "B H S D"], Float64[Array, "B H S Dv"]]:
    """Trace the gradient of a loss from the output of attention back to queries, keys and values.

    P = softmax(cap(scale · Q Kᵀ) + bias) over the visible keys, and the sinks, dV = Pᵀ dO, dP = dO Vᵀ,
    dS = P ∘ (dP − rowsum(P ∘ dP)), dQ = scale · dS K, dK = scale · dSᵀ Q, scale = 1/√D unless given

    A soft cap c multiplies dS by its slope, `soft_cap_slope`. A sink is one key more, of value 0: it takes part in P
    and has no term in rowsum(P ∘ dP). The gradients of the bias and of the sinks are those of
    `attention_bias_backward` and `attention_sinks_backward`.

    Hidden entries are omitted from every sum, even if they are not finite. A query that sees no key has the constant
    output 0 here: its gradient is 0, and it adds nothing to the others.

    Shapes: query (B, H, L, D), key (B, H, S, D), value (B, H, S, Dv), grad_output (B, H, L, Dv), mask and bias
    broadcastable to (B, H, L, S), window (left, right), sinks (H,); to (B, H, L, D), (B, H, S, D), (B, H, S, Dv).
    Raises: ValueError as `scaled_dot_product_attention` does, and when grad_output has not the output's shape.
    Source: Dao et al. 2022 (FlashAttention), appendix B.2, and the chain rule for the soft cap.
    Conventions: those of `visible_keys`; empty_row is zeros (under the others the gradients of such rows are not
    settled: frameworks return zeros, NaN, or those of an average over keys that are masked).
    """
    sizes: Sizes = {}
    query = as_axes("query", query, "B H L D", sizes)
    key = as_axes("key", key, "B H S D", sizes)
    value = as_axes("value", value, "B H S Dv", sizes)
    grad_output = as_axes("grad_output", grad_output, "B H L Dv", sizes)
    weights, visible = recomputed_weights(
        query,
        key,
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
    grad_logits = gradient_of_logits(weights, visible, gradient_of_weights(grad_output, value))
    grad_query, grad_key = _to_query_and_key(query, key, grad_logits, visible, scale, softcap)
    return grad_query, grad_key, weighted_sum(weights.swapaxes(-1, -2), grad_output, visible.swapaxes(-1, -2))


def attention_weights_backward(
    query: Float[Array, "B H L D"],
    key: Float[Array, "B H S D"],
    grad_output: Float[Array, "B H L S"],
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
) -> tuple[Float64[Array, "B H L D"], Float64[Array, "B H S D"]]:
    """Trace the gradient of a loss from the weights of attention back to queries and keys.

    P = softmax(cap(scale · Q Kᵀ) + bias) over the visible keys, and the sinks, dS = P ∘ (dO − rowsum(P ∘ dO)),
    dQ = scale · dS K, dK = scale · dSᵀ Q, scale = 1/√D unless given

    A soft cap and sinks act as in `scaled_dot_product_attention_backward`, of which this is the part behind the
    average: there dO Vᵀ stands for dO. The weight of a hidden key is the constant 0, so that its gradient is left out.

    Shapes: query (B, H, L, D), key (B, H, S, D), grad_output (B, H, L, S), mask and bias broadcastable to
    (B, H, L, S), window (left, right), sinks (H,); to (B, H, L, D), (B, H, S, D).
    Raises: ValueError as `attention_weights` does, and when grad_output has not the shape of the weights.
    Source: the Jacobian of softmax, diag(p) − p pᵀ; Dao et al. 2022 (FlashAttention), appendix B.2.
    Conventions: those of `scaled_dot_product_attention_backward`.
    """
    sizes: Sizes = {}
    query = as_axes("query", query, "B H L D", sizes)
    key = as_axes("key", key, "B H S D", sizes)
    grad_output = as_axes("grad_output", grad_output, "B H L S", sizes)
    weights, visible = recomputed_weights(
        query,
        key,
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
    return _to_query_and_key(query, key, gradient_of_logits(weights, visible, grad_output), visible, scale, softcap)


def recomputed_weights(
    query: Float64[Array, "B H L D"],
    key: Float64[Array, "B H S D"],
    *,
    mask: Bool[Array, "#B #H #L #S"] | Bool[Array, "#L #S"] | None,
    bias: Float[Array, "#B #H #L #S"] | Float[Array, "#L #S"] | None,
    is_causal: bool,
    scale: float | None,
    window: Window | None,
    softcap: float | None,
    sinks: Float[Array, " H"] | None,
    causal_alignment: CausalAlignment,
    window_counting: WindowCounting,
) -> tuple[Float64[Array, "B H L S"], Bool[Array, "B H L S"]]:
    """Return the weights of the keys, 0 in rows without a visible key, and which keys each query may see."""
    logits = attention_logits(query, key, bias=bias, scale=scale, softcap=softcap)
    visible = visible_keys(
        logits.shape,
        mask=mask,
        bias=bias,
        is_causal=is_causal,
        window=window,
        causal_alignment=causal_alignment,
        window_counting=window_counting,
    )
    if sinks is None:
        return masked_softmax(logits, visible), visible
    # Without the sink's column in between, so that sums run in the same order with and without sinks.
    return np.ascontiguousarray(softmax_beside_sinks(logits, visible, sinks)), visible


def _to_query_and_key(
    query: Float64[Array, "B H L D"],
    key: Float64[Array, "B H S D"],
    grad_logits: Float64[Array, "B H L S"],
    visible: Bool[Array, "B H L S"],
    scale: float | None,
    softcap: float | None,
) -> tuple[Float64[Array, "B H L D"], Float64[Array, "B H S D"]]:
    """Trace the gradient of the logits, behind the soft cap if there is one, back to queries and keys."""
    factor = query.shape[-1] ** -0.5 if scale is None else scale
    if softcap:
        slopes = soft_cap_slope(attention_logits(query, key, scale=scale), softcap)
        grad_logits = np.where(visible, slopes * grad_logits, 0.0)
    grad_query = weighted_sum(grad_logits, key, visible)
    grad_key = weighted_sum(grad_logits.swapaxes(-1, -2), query, visible.swapaxes(-1, -2))
    return factor * grad_query, factor * grad_key


def gradient_of_weights(
    grad_output: Float64[Array, "B H L Dv"], value: Float64[Array, "B H S Dv"]
) -> Float64[Array, "B H L S"]:
    """Return dP = dO Vᵀ, (B, H, L, S), hidden entries included: where a value is not finite, these are not either."""
    # A hidden value may hold anything: 0 · ∞ is no reason to warn.
    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray(grad_output @ value.swapaxes(-1, -2))


def gradient_of_logits(
    weights: Float[Array, "B H L S"], visible: Bool[Array, "B H L S"], grad_weights: Float[Array, "B H L S"]
) -> Float64[Array, "B H L S"]:
    """Trace the gradient of the weights back through the softmax over the visible keys.

    dS_ij = P_ij (dP_ij − Σ_l P_il dP_il),  0 where key j is not visible to query i

    Shapes: weights, visible and grad_weights (B, H, L, S), to (B, H, L, S).
    Raises: nothing of its own.
    Source: the Jacobian of softmax, diag(p) − p pᵀ; Dao et al. 2022 (FlashAttention), appendix B.2.
    """
    # What belongs to a hidden key may be anything: it is selected away, not multiplied by 0.
    shown = np.where(visible, grad_weights, 0.0)
    average = np.sum(weights * shown, axis=-1, keepdims=True)
    return np.asarray(np.where(visible, weights * (shown - average), 0.0))
