"""Rounding error of softmax."""

from __future__ import annotations

import numpy as np
from veriformer.conformance_tests.tolerances.precision import Precision

Array = np.ndarray


def softmax_bound(logits: Array, weights: Array, precision: Precision) -> Array:
    """Return the largest rounding error of a correct softmax, entry by entry.

    The subtraction of the maximum errs by u (max x − x), exp and the division by 2 u, all relative; the sum of
    n terms by γ(n). |δp| ≤ p (e^ε · 1/Σ p e^(−ε) − 1) + (γ(n) + u) p + tiny.
    """
    highest = logits.max(axis=-1, keepdims=True)
    distance = np.where(np.isfinite(logits), highest - logits, 0.0)
    error = precision.stored * (distance + 3.0)
    return weight_error(weights, error, precision)


def weight_error(weights: Array, error: Array, precision: Precision) -> Array:
    """Return the error of normalised weights whose exponentials have the relative log-error `error`."""
    error = np.minimum(error, 50.0)
    normaliser = np.sum(weights * np.exp(-error), axis=-1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.where(normaliser > 0, np.exp(error) / normaliser - 1.0, 0.0)
    rounding = precision.growth(weights.shape[-1]) + precision.stored + precision.output
    bound: Array = np.minimum(weights * relative, 1.0) + rounding * weights + 2.0 * precision.tiny
    return bound
