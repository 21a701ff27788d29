"""The gradients of what attention adds to its logits: a learned bias, and sinks."""

from __future__ import annotations

import numpy as np
from veriformer.reference.array_types import Array, Bool, Float, Float64
from veriformer.reference.attention import attention_logits
from veriformer.reference.attention_backward import gradient_of_logits, gradient_of_weights, recomputed_weights
from veriformer.reference.checks import Sizes, as_axes
from veriformer.reference.conventions import CausalAlignment, WindowCounting
from veriformer.reference.sinks import weights_of_sinks
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
    query, key, value, grad_output = _checked(query, key, value, grad_output)
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
    return _summed_to(np.shape(bias), gradient_of_logits(weights, visible, gradient_of_weights(grad_output, value)))


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
    query, key, value, grad_output = _checked(query, key, value, grad_output)
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
    average = np.sum(weights * np.where(visible, gradient_of_weights(grad_output, value), 0.0), axis=-1)
    logits = attention_logits(query, key, bias=bias, scale=scale, softcap=softcap)
    return np.asarray(-np.sum(weights_of_sinks(logits, visible, sinks) * average, axis=(0, 2)))


def _checked(
    query: Float[Array, "B H L D"],
    key: Float[Array, "B H S D"],
    value: Float[Array, "B H S Dv"],
    grad_output: Float[Array, "B H L Dv"],
) -> tuple[
    Float64[Array, "B H L D"], Float64[Array, "B H S D"], Float64[Array, "B H S Dv"], Float64[Array, "B H L Dv"]
]:
    sizes: Sizes = {}
    return (
        as_axes("query", query, "B H L D", sizes),
        as_axes("key", key, "B H S D", sizes),
        as_axes("value", value, "B H S Dv", sizes),
        as_axes("grad_output", grad_output, "B H L Dv", sizes),
    )


def _summed_to(shape: tuple[int, ...], array: Float64[Array, "B H L S"]) -> Float64[Array, "*axes"]:
    """Return the sum over the axes that an array of this shape is broadcast along."""
    lengths = (1,) * (array.ndim - len(shape)) + shape
    axes = tuple(axis for axis, length in enumerate(lengths) if length == 1)
    return np.asarray(array.sum(axis=axes, keepdims=True).reshape(shape))
