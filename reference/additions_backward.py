"""The gradients of what attention adds to its logits: a learned bias, and sinks."""

from __future__ import annotations

import numpy as np
from veriformer.reference.array_types import Array, Bool, Float, Float64
from veriformer.reference.attention import attention_logits, visible_keys
from veriformer.reference.attention_backward import gradient_of_logits
from veriformer.reference.checks import Sizes, as_axes
from veriformer.reference.conventions import CausalAlignment, WindowCounting
from veriformer.reference.sinks import softmax_beside_sinks, weights_of_sinks
from veriformer.reference.softmax import masked_softmax
from veriformer.reference.windows import Window


def attention_bias_backward(
    query: Float[Array, "B H L D"],
    key: Float[Array, "B H S D"],
    value: Float[Array, "B H S Dv"],
    grad_output: Float[Array, "B H L Dv"],
    *,
    bias: Float[Array, "#B #H #L #S"] | Float[Array, "#L #S"],
    mask: Bool[Array, "#B #H #L #S"] | Bool[Array, "#L #S"] | None = None,
    is_causal: bool = False,
    scale: float | None = None,
    window: Window | None = None,
    softcap: float | None = None,
    sinks: Float[Array, " H"] | None = None,
    causal_alignment: CausalAlignment = "top_left",
    window_counting: WindowCounting = "inclusive",
) -> Float64[Array, "*axes"]:
    """Trace the gradient of a loss from the output of attention back to the bias of its logits.

    P = softmax(cap(scale · Q Kᵀ) + bias) over the visible keys, and the sinks, dP = dO Vᵀ,
    dbias = P ∘ (dP − rowsum(P ∘ dP)), summed over the axes that the bias lacks or has in size one

    The bias stands behind the scale and the soft cap: neither is a factor of its gradient. A hidden entry, one of −∞
    among them, and an entry of a query that sees no key, has the gradient 0.

    Shapes: query (B, H, L, D), key (B, H, S, D), value (B, H, S, Dv), grad_output (B, H, L, Dv), mask and bias
    broadcastable to (B, H, L, S), window (left, right), sinks (H,); to the shape of the bias.
    Raises: ValueError as `scaled_dot_product_attention` does, and when grad_output has not the output's shape.
    Source: Raffel et al. 2020 (T5), section 2.1; Dao et al. 2022 (FlashAttention), appendix B.2.
    Conventions: those of `scaled_dot_product_attention_backward`.
    """
    grad_logits, _ = _gradients(
        query,
        key,
        value,
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
    return _summed_to(np.shape(bias), grad_logits)


def attention_sinks_backward(
    query: Float[Array, "B H L D"],
    key: Float[Array, "B H S D"],
    value: Float[Array, "B H S Dv"],
    grad_output: Float[Array, "B H L Dv"],
    *,
    sinks: Float[Array, " H"],
    mask: Bool[Array, "#B #H #L #S"] | Bool[Array, "#L #S"] | None = None,
    bias: Float[Array, "#B #H #L #S"] | Float[Array, "#L #S"] | None = None,
    is_causal: bool = False,
    scale: float | None = None,
    window: Window | None = None,
    softcap: float | None = None,
    causal_alignment: CausalAlignment = "top_left",
    window_counting: WindowCounting = "inclusive",
) -> Float64[Array, " H"]:
    """Trace the gradient of a loss from the output of attention back to the sinks of its heads.

    dσ_h = −Σ_b Σ_i p_σ[b, h, i] Σ_j P[b, h, i, j] dP[b, h, i, j],  p_σ = 1 − Σ_j P_j the weight of the sink,
    dP = dO Vᵀ

    A sink is one key more whose value, and so the gradient of whose weight, is 0. A query that sees no key gives the
    sink all its weight, has the output 0, and adds nothing.

    Shapes: query (B, H, L, D), key (B, H, S, D), value (B, H, S, Dv), grad_output (B, H, L, Dv), sinks (H,), mask and
    bias broadcastable to (B, H, L, S), window (left, right); to (H,).
    Raises: ValueError as `scaled_dot_product_attention` does, and when grad_output has not the output's shape.
    Source: OpenAI 2025 (gpt-oss model card), section 2.2, by the chain rule.
    Conventions: those of `scaled_dot_product_attention_backward`; a sink is neither scaled nor capped.
    """
    _, grad_sinks = _gradients(
        query,
        key,
        value,
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
    return np.asarray(grad_sinks.sum(axis=(0, 2)))


def _gradients(
    query: Float[Array, "B H L D"],
    key: Float[Array, "B H S D"],
    value: Float[Array, "B H S Dv"],
    grad_output: Float[Array, "B H L Dv"],
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
) -> tuple[Float64[Array, "B H L S"], Float64[Array, "B H L"]]:
    """Return the gradients of the logits of the keys, and of that of the sink of each query, 0 without sinks."""
    sizes: Sizes = {}
    query = as_axes("query", query, "B H L D", sizes)
    key = as_axes("key", key, "B H S D", sizes)
    value = as_axes("value", value, "B H S Dv", sizes)
    grad_output = as_axes("grad_output", grad_output, "B H L Dv", sizes)
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
    # A hidden value may hold anything: 0 · ∞ is no reason to warn.
    with np.errstate(invalid="ignore", over="ignore"):
        grad_weights = grad_output @ value.swapaxes(-1, -2)
    if sinks is None:
        weights = masked_softmax(logits, visible)
        return gradient_of_logits(weights, visible, grad_weights), np.zeros(logits.shape[:-1])
    # Without the sink's column in between, so that sums run in the same order with and without sinks.
    weights = np.ascontiguousarray(softmax_beside_sinks(logits, visible, sinks))
    average = np.sum(np.where(visible, weights * grad_weights, 0.0), axis=-1)
    return gradient_of_logits(weights, visible, grad_weights), -weights_of_sinks(logits, visible, sinks) * average


def _summed_to(shape: tuple[int, ...], array: Float64[Array, "B H L S"]) -> Float64[Array, "*axes"]:
    """Return the sum over the axes that an array of this shape is broadcast along."""
    lengths = (1,) * (array.ndim - len(shape)) + shape
    axes = tuple(axis for axis, length in enumerate(lengths) if length == 1)
    return np.asarray(array.sum(axis=axes, keepdims=True).reshape(shape))
