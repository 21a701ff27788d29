"""Softmax over the last axis, of all entries or of the visible ones."""

from __future__ import annotations

import numpy as np
from veriformer.reference.array_types import Array, Bool, Float, Float64
from veriformer.reference.checks import as_float64, require_choice
from veriformer.reference.conventions import EmptyRow


def softmax(x: Float[Array, "*rows n"]) -> Float64[Array, "*rows n"]:
    """Turn each row of logits into a probability distribution.

    softmax(x)_i = exp(x_i − max x) / Σ_j exp(x_j − max x)

    Subtracting the maximum changes nothing in exact arithmetic and keeps exp from overflowing. An entry of −∞ gets
    the weight 0. A row that holds NaN, +∞, or nothing but −∞ has no softmax and becomes NaN.

    Shapes: (..., n) to (..., n).
    Raises: ValueError when x has no axis or does not hold real numbers.
    Source: Bridle 1990; Vaswani et al. 2017, section 3.2.1.
    Conventions: softmax_dtype. The reference computes in float64; jax.nn.dot_product_attention uses float32 for
    every input, torch's fused kernels at least float32.
    """
    logits = as_float64("x", x)
    if logits.ndim == 0:
        raise ValueError("x must have at least one axis, the one to normalise over; got a scalar; pass a vector")
    return _normalised(_below(logits, logits.max(axis=-1, keepdims=True, initial=-np.inf)))


def _below(logits: Float64[Array, "*rows n"], highest: Float64[Array, "*rows 1"]) -> Float64[Array, "*rows n"]:
    """Return the logits less the highest of their row; a difference beyond the range is −∞, whose exponential is 0."""
    with np.errstate(over="ignore"):
        return np.asarray(logits - highest)


def _normalised(shifted: Float64[Array, "*rows n"]) -> Float64[Array, "*rows n"]:
    """Return exp(x) / Σ exp(x) in the memory of x: large arrays cost more to allocate than to compute with."""
    np.exp(shifted, out=shifted)
    shifted /= shifted.sum(axis=-1, keepdims=True)
    return np.asarray(shifted)


def masked_softmax(
    logits: Float[Array, "*rows n"], visible: Bool[Array, "*rows n"], empty_row: EmptyRow = "zeros"
) -> Float64[Array, "*rows n"]:
    """Turn the visible logits of each row into a probability distribution; hidden entries get the weight 0.

    w_i = exp(x_i) / Σ_{j visible} exp(x_j) where i is visible, else 0

    Hidden logits are omitted by selection, so that NaN or infinity there has no effect. A row without a visible
    entry follows `empty_row`: all weights 0, all NaN, or all 1/n.

    Shapes: logits and visible (..., n) to (..., n).
    Raises: ValueError when the shapes differ or empty_row is unknown.
    Source: Vaswani et al. 2017, section 3.2.3 (illegal connections are set to −∞).
    Conventions: empty_row. torch, ONNX and FlashAttention return "zeros", tinygrad and torch.nn.MultiheadAttention with
    weights "nan", and jax, flax, keras and equinox "mean_of_values".
    """
    require_choice("empty_row", empty_row, EmptyRow)
    numbers = as_float64("logits", logits)
    if numbers.shape != visible.shape:
        raise ValueError(
            f"visible must have the shape of the logits, {numbers.shape}; got {visible.shape}; broadcast it first"
        )
    if visible.all() and visible.shape[-1]:
        return softmax(numbers)
    empty = ~visible.any(axis=-1, keepdims=True)
    # Equal logits make an empty row uniform, and spare the 0/0 of a row of −∞.
    shown = np.where(visible, numbers, np.where(empty, 0.0, -np.inf))
    weights = _normalised(_below(shown, shown.max(axis=-1, keepdims=True, initial=-np.inf)))
    if empty_row == "mean_of_values" or not empty.any():
        return weights
    return np.where(empty, 0.0 if empty_row == "zeros" else np.nan, weights)


def log_sum_exp(x: Float[Array, "*rows n"]) -> Float64[Array, "*rows"]:
    """Take the logarithm of each row's sum of exponentials: the logarithm of the denominator of softmax.

    lse(x) = m + ln Σ_j exp(x_j − m),  m = max x

    A row of nothing but −∞, or of nothing at all, has the logarithm −∞.

    Shapes: (..., n) to (...).
    Raises: ValueError when x has no axis or does not hold real numbers.
    Source: Blanchard, Higham & Higham 2021, section 1.
    Conventions: the natural logarithm; some kernels return the one of base 2.
    """
    logits = as_float64("x", x)
    if logits.ndim == 0:
        raise ValueError("x must have at least one axis, the one to sum over; got a scalar; pass a vector")
    highest = logits.max(axis=-1, keepdims=True, initial=-np.inf)
    shift = np.where(np.isneginf(highest), 0.0, highest)
    with np.errstate(divide="ignore"):
        return np.asarray(shift[..., 0] + np.log(np.exp(_below(logits, shift)).sum(axis=-1)))
