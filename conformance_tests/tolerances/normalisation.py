"""Rounding error of layer normalisation and of root-mean-square normalisation."""

from __future__ import annotations

import numpy as np
from veriformer.conformance_tests.tolerances.precision import Precision

Array = np.ndarray


def layer_norm_bound(x: Array, gamma: Array, beta: Array, eps: float, precision: Precision) -> Array:
    """Return the error of a two-pass layer normalisation, entry by entry.

    The mean errs by γ(n) mean|x|, a centred entry by that and u |x − μ|, the variance by γ(n) var + 2u var + δμ²,
    the reciprocal root by half the relative error of var + eps.
    """
    unit = precision.stored
    growth = precision.growth(x.shape[-1]) + precision.accumulation
    mean = x.mean(axis=-1, keepdims=True)
    centred = x - mean
    variance = np.mean(centred**2, axis=-1, keepdims=True)
    mean_error = growth * np.mean(np.abs(x), axis=-1, keepdims=True) + unit * np.abs(mean)
    centred_error = mean_error + unit * np.abs(centred)
    variance_error = (growth + 5.0 * unit) * variance + mean_error**2
    smallest = np.maximum(variance + eps - variance_error, 0.25 * eps)
    root_error = np.sqrt((variance + eps) / smallest) - 1.0 + 5.0 * unit
    root = 1.0 / np.sqrt(variance + eps)
    normalised = np.abs(centred) * root
    core = centred_error * root * (1.0 + root_error) + normalised * root_error
    result = np.abs(centred * root * gamma + beta)
    bound: Array = np.abs(gamma) * (core + 3.0 * unit * normalised) + unit * np.abs(beta)
    bound += (precision.output + unit) * result + precision.tiny
    return bound


def rms_norm_bound(x: Array, gain: Array, eps: float, precision: Precision) -> Array:
    """Return the error of a root-mean-square normalisation, entry by entry; it is relative, for nothing cancels.

    The mean square errs by γ(n) + 3u (squares, mean, division), the sum with eps by 2u (the sum, and eps itself), of
    which the root leaves half: 1/√(1 − ρ) − 1 with ρ = γ(n) + 5u. The root, its reciprocal, the product with x, the
    gain (which may be 1 + gamma) and the product with it add 5u, the result u′.
    Squares are taken in float32 at least, as everywhere: those of float16 would underflow beside a small eps.
    """
    unit = precision.stored
    squared = precision.growth(x.shape[-1]) + 5.0 * unit
    root_error = 1.0 / np.sqrt(1.0 - squared) - 1.0
    result = np.abs(x / np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + eps) * gain)
    bound: Array = (root_error + 5.0 * unit + precision.output) * result + precision.tiny * (1.0 + np.abs(gain))
    return bound
