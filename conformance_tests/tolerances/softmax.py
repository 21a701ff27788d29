"""Rounding error of softmax."""

from __future__ import annotations

import numpy as np
from veriformer.conformance_tests.tolerances.precision import Precision

Array = np.ndarray

# Beyond any error that a bound is compared with, and far from the largest float64.
_LARGEST_LOGARITHM = 300.0


def softmax_bound(logits: Array, precision: Precision) -> Array:
    """Return the largest rounding error of a correct softmax, entry by entry.

    The subtraction of the maximum errs by u (max x − x), exp and the division by 2 u, all relative; the sum of
    n terms by γ(n). |δp| ≤ p (e^ε / Σ p e^(−ε) − 1) + (γ(n) + 2u + u′ |log Σ e^x|) p + tiny.
    """
    highest = logits.max(axis=-1, keepdims=True)
    distance = np.where(np.isfinite(logits), highest - logits, 0.0)
    return weight_error(logits, precision.stored * (distance + 3.0), precision)


def weight_error(logits: Array, error: Array, precision: Precision) -> Array:
    """Return the error of the softmax of logits (−∞ where hidden) whose own error is `error`.

    p changes to at most p e^ε / Σ p e^(−ε), and to nothing less than zero; a weight is never above one.
    """
    weights = np.exp(log_weights(logits))
    moved = np.minimum(np.exp(log_rise(logits, error, both_ways=True)), 1.0)
    rounding = precision.growth(weights.shape[-1]) + precision.stored + precision.output
    bound: Array = moved + (rounding + normaliser_error(logits, precision)) * weights + 2.0 * precision.tiny
    return bound


def log_weights(logits: Array) -> Array:
    """Return the logarithms of the softmax, −∞ where hidden: a weight that float64 cannot hold still has one."""
    return np.asarray(logits - log_normaliser(logits))


def log_normaliser(logits: Array) -> Array:
    """Return log Σ e^z of each row, (..., 1); zero where nothing is visible."""
    highest = np.max(logits, axis=-1, keepdims=True, initial=-np.inf)
    shift = np.where(np.isfinite(highest), highest, 0.0)
    total = np.sum(np.exp(logits - shift), axis=-1, keepdims=True)
    return np.asarray(shift + np.log(np.where(total > 0, total, 1.0)))


def normaliser_error(logits: Array, precision: Precision) -> Array:
    """Return the relative error that a row's weights share when the normaliser is kept as its logarithm.

    p = exp(z − log Σ e^z), as in log_softmax and in kernels that hand the logarithm on, which is never of less than
    float32: rounding it to |log Σ e^z| (1 ± u′) multiplies the whole row by e^(± u′ |log Σ e^z|).
    """
    error = precision.logarithm * np.abs(log_normaliser(logits))
    return np.asarray(np.expm1(np.minimum(error, _LARGEST_LOGARITHM)))


def log_rise(logits: Array, error: Array, *, both_ways: bool = False) -> Array:
    """Return the logarithm of p (e^ε − 1) / Σ p e^(−ε), or `both_ways` that of p (e^ε / Σ p e^(−ε) − 1).

    In logarithms, because an error of some hundred, which logits of 16 bits do have, lifts a weight that is nothing
    in float64 to one that counts. e^x − 1 = e^x (1 − e^(−x)) keeps small errors exact.
    """
    weights = log_weights(logits)
    lowest = _log_lowest(weights, error)
    exponent = error - lowest if both_ways else error
    with np.errstate(divide="ignore"):
        rise = weights + exponent + np.log(-np.expm1(-exponent))
    return np.asarray(np.minimum(rise if both_ways else rise - lowest, _LARGEST_LOGARITHM))


def _log_lowest(weights: Array, error: Array) -> Array:
    """Return log Σ p e^(−ε) from log p, exact for errors of some roundoffs and for errors of some hundred."""
    lost = np.sum(np.exp(weights) * -np.expm1(-error), axis=-1, keepdims=True)
    direct = log_normaliser(weights - error)
    return np.where(lost < 0.5, np.log1p(-np.minimum(lost, 0.5)), direct)
