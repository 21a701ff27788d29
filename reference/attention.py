"""Scaled dot-product attention, and the logits, visible keys and weights it is made of."""

from __future__ import annotations

import math

import numpy as np
from veriformer.reference.array_types import Array, Bool, Float, Float64
from veriformer.reference.checks import Sizes, as_axes, as_bias, as_mask, require_choice
from veriformer.reference.conventions import CausalAlignment, EmptyRow, WindowCounting
from veriformer.reference.masks import causal_mask
from veriformer.reference.sinks import softmax_beside_sinks
from veriformer.reference.softcap import soft_cap
from veriformer.reference.softmax import masked_softmax
from veriformer.reference.windows import Window, window_mask


def attention_logits(
    query: Float[Array, "B H L D"],
    key: Float[Array, "B H S D"],
    *,
    bias: Float[Array, "#B #H #L #S"] | Float[Array, "#L #S"] | None = None,
    scale: float | None = None,
    softcap: float | None = None,
) -> Float64[Array, "B H L S"]:
    """Measure how well each key matches each query.

    logit_ij = cap(scale · q_i · k_j) + bias_ij, scale = 1/√D unless given, cap = `soft_cap`

    Shapes: query (B, H, L, D), key (B, H, S, D), bias broadcastable to (B, H, L, S), to (B, H, L, S).
    Raises: ValueError when shapes do not fit, scale or softcap is not positive and finite, or D = 0 leaves the scale
    undefined.
    Source: Vaswani et al. 2017, section 3.2.1; the bias is an addition of Shaw et al. 2018 and later work.
    """
    sizes: Sizes = {}
    query = as_axes("query", query, "B H L D", sizes)
    key = as_axes("key", key, "B H S D", sizes)
    factor = _scale(scale, sizes["D"])
    # A hidden key may hold anything: 0 · ∞ is no reason to warn.
    with np.errstate(invalid="ignore", over="ignore"):
        logits = soft_cap((factor * query) @ key.swapaxes(-1, -2), softcap)
        return logits if bias is None else logits + as_bias(bias, logits.shape)


def visible_keys(
    shape: tuple[int, int, int, int],
    *,
    mask: Bool[Array, "#B #H #L #S"] | Bool[Array, "#L #S"] | None = None,
    bias: Float[Array, "#B #H #L #S"] | Float[Array, "#L #S"] | None = None,
    is_causal: bool = False,
    window: Window | None = None,
    causal_alignment: CausalAlignment = "top_left",
    window_counting: WindowCounting = "inclusive",
) -> Bool[Array, "B H L S"]:
    """Say which keys each query may see: those that mask, bias, causality and window all allow.

    visible_ij = mask_ij ∧ (bias_ij ≠ −∞) ∧ (¬is_causal ∨ j ≤ i + offset) ∧ window_ij

    Shapes: shape = (B, H, L, S); mask and bias (L, S) or of rank 4, broadcastable to it; to (B, H, L, S).
    Raises: ValueError when the mask is not boolean, the bias is, either does not fit, the window is no pair of counts,
    or a convention's value is unknown.
    Source: Vaswani et al. 2017, section 3.2.3.
    Conventions: mask_polarity (True attends here; torch.nn.MultiheadAttention has it the other way round),
    causal_with_mask (both apply; torch documents that the pair is refused), causal_alignment (see `causal_mask`),
    window_counting (see `window_mask`).
    """
    require_choice("causal_alignment", causal_alignment, CausalAlignment)
    visible = np.ones(shape, dtype=np.bool_)
    if mask is not None:
        visible &= as_mask(mask, shape)
    if bias is not None:
        visible &= as_bias(bias, shape) != -np.inf
    if is_causal:
        visible &= causal_mask(shape[2], shape[3], causal_alignment)
    if window is not None:
        visible &= window_mask(
            shape[2], shape[3], window, causal_alignment=causal_alignment, window_counting=window_counting
        )
    return visible


def attention_weights(
    query: Float[Array, "B H L D"],
    key: Float[Array, "B H S D"],
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
) -> Float64[Array, "B H L S"]:
    """Compute the weights with which attention averages the values.

    w_ij = exp(logit_ij) / Σ_{j' visible} exp(logit_ij') where key j is visible to query i, else 0

    With sinks the denominator has e^sink as well, see `softmax_beside_sinks`: a row sums to less than one.

    Shapes: query (B, H, L, D), key (B, H, S, D), mask and bias broadcastable to (B, H, L, S), window (left, right),
    sinks (H,), to (B, H, L, S).
    Raises: ValueError as `attention_logits`, `visible_keys`, `masked_softmax` and `softmax_beside_sinks` do.
    Source: Vaswani et al. 2017, section 3.2.1, equation 1.
    Conventions: those of `visible_keys` and `masked_softmax`; masked_nonfinite as in `scaled_dot_product_attention`.
    """
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
    if sinks is not None:
        return softmax_beside_sinks(logits, visible, sinks)
    return masked_softmax(logits, visible, empty_row)


def scaled_dot_product_attention(
    query: Float[Array, "B H L D"],
    key: Float[Array, "B H S D"],
    value: Float[Array, "B H S Dv"],
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
    """Average the values, weighted by how well each key matches the query.

    output_i = Σ_{j visible} w_ij v_j,  w_i = softmax over the visible j of (cap(scale · q_i · k_j) + bias_ij)

    The order is scale, soft cap, bias, mask, softmax; see `attention_logits`, `visible_keys`, `softmax_beside_sinks`.
    Keys and values behind the mask are omitted from the sums, not multiplied by 0, so NaN and infinity there have no
    effect. A query that sees no key gets zeros, NaN, or the mean of all S values, masked ones included (zeros where S =
    0, the empty sum); with sinks it gets zeros.

    Shapes: query (B, H, L, D), key (B, H, S, D), value (B, H, S, Dv), mask and bias (L, S) or of rank 4,
    broadcastable to (B, H, L, S), window (left, right), sinks (H,), to (B, H, L, Dv).
    Raises: ValueError as `attention_logits`, `visible_keys` and `softmax_beside_sinks` do.
    Source: Vaswani et al. 2017, section 3.2.1, equation 1.
    Conventions: those of `visible_keys`, empty_row (see `masked_softmax`), softcap_order (before the mask), layout
    ("bhld" here and in torch and ONNX; "blhd" in jax, flax and FlashAttention), masked_nonfinite (ignored here; jax,
    flax and keras let a masked value through, torch a masked key too).
    """
    sizes: Sizes = {}
    query = as_axes("query", query, "B H L D", sizes)
    key = as_axes("key", key, "B H S D", sizes)
    value = as_axes("value", value, "B H S Dv", sizes)
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
    if sinks is not None:
        return weighted_sum(softmax_beside_sinks(logits, visible, sinks), value, visible)
    weights = masked_softmax(logits, visible, empty_row)
    empty = ~visible.any(axis=-1, keepdims=True)
    if empty_row == "mean_of_values":
        return weighted_sum(weights, value, visible | empty)
    # Without a single key, S = 0, no weight could carry the NaN to the output.
    return np.where(empty, 0.0 if empty_row == "zeros" else np.nan, weighted_sum(weights, value, visible))


def weighted_sum(
    weights: Float[Array, "B H L S"], value: Float[Array, "B H S Dv"], included: Bool[Array, "B H L S"]
) -> Float64[Array, "B H L Dv"]:
    """Add up the included values with their weights; the others have no effect, even if they are not finite.

    output_i = Σ_{j included} w_ij v_j

    Shapes: weights and included (B, H, L, S), value (B, H, S, Dv), to (B, H, L, Dv). Weights that are not included
    must be 0.
    Raises: nothing of its own.
    Source: Vaswani et al. 2017, section 3.2.1, equation 1.
    """
    finite = np.isfinite(value)
    if finite.all():
        return np.asarray(weights @ value)
    # 0 · NaN is NaN: values that are not finite are added separately, and only where they are included.
    with np.errstate(invalid="ignore"):
        products = weights[..., None] * value[:, :, None]
        others = np.where(included[..., None] & ~finite[:, :, None], products, 0.0).sum(axis=-2)
    return np.asarray(weights @ np.where(finite, value, 0.0) + others)


def _scale(scale: float | None, width: int) -> float:
    if scale is None:
        if width == 0:
            raise ValueError("scale is 1/√D, undefined for D = 0; got heads of width 0; pass wider heads or a scale")
        return 1.0 / math.sqrt(width)
    if not (math.isfinite(scale) and scale > 0):
        raise ValueError(f"scale must be positive and finite; got {scale}; pass None for 1/√D")
    return scale
