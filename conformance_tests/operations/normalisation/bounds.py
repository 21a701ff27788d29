"""Rounding error of layer normalisation and of root-mean-square normalisation.

Derivation: normalisation_rounding.
"""

from __future__ import annotations

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.rounding.carried import Normalised, carried_error
from veriformer.conformance_tests.rounding.precision import Precision


def layer_norm_bound(
    x: Array,
    gamma: Array,
    beta: Array,
    eps: float,
    precision: Precision,
    x_error: Array | None = None,
    *,
    inside_root: bool = True,
) -> Array:
    """Return the error of a two-pass layer normalisation, entry by entry, whose vectors may be wrong by `x_error`.

    The mean errs by γ(n) mean|x|, a centred entry by that and u |x − μ|, the variance by γ(n) var + 2u var + δμ²,
    the reciprocal root by half the relative error of var + eps. As the variance is that of the centred entries as they
    were rounded, no quotient is beyond √E (1 + γ(n) + 5u).

    What x is wrong by moves the exact result as `carried_error` says; the rounding errors are then those of the wrong
    vector, none of whose quantities is beyond the largest that its error allows. Where a processor takes subnormal
    numbers for zero, x and gamma are wrong by those, and centred entries by the smallest normal number: small, but
    divided by a deviation that may be √eps.
    """
    unit, width = precision.stored, x.shape[-1]
    growth = precision.growth(width) + precision.accumulation
    mean = x.mean(axis=-1, keepdims=True)
    exact = Normalised.of(x - mean, eps, inside_root=inside_root)
    error = precision.flushed(x) + (0.0 if x_error is None else x_error)
    carried = carried_error(exact, error, centring=True)
    largest = exact.largest(error, centring=True)
    mean_moved = error.mean(axis=-1, keepdims=True)
    magnitude = np.mean(np.abs(x), axis=-1, keepdims=True) + mean_moved
    mean_error = growth * magnitude + unit * (np.abs(mean) + mean_moved)
    centred_error = mean_error + unit * largest.centred + precision.flushed(largest.centred)
    root_error = largest.root_error(growth + 5.0 * unit, mean_error) + 5.0 * unit
    normalised = np.abs(exact.result) + carried
    core = centred_error / largest.divisor * (1.0 + root_error) + normalised * root_error
    core = np.minimum(core + carried, np.abs(exact.result) + np.sqrt(width) * (1.0 + growth + 5.0 * unit))
    result = np.abs(exact.result * gamma + beta) + np.abs(gamma) * carried
    bound: Array = np.abs(gamma) * (core + 3.0 * unit * normalised) + unit * np.abs(beta)
    bound += (precision.output + unit) * result + precision.tiny
    bound += normalised * precision.flushed(gamma) + precision.flushed(beta)
    return bound


def rms_norm_bound(x: Array, gain: Array, eps: float, precision: Precision, x_error: Array | None = None) -> Array:
    """Return the error of a root-mean-square normalisation, entry by entry; it is relative, for nothing cancels.

    The mean square errs by γ(n) + 3u (squares, mean, division), the sum with eps by 2u (the sum, and eps itself), of
    which the root leaves half: 1/√(1 − ρ) − 1 with ρ = γ(n) + 5u. The root, its reciprocal, the product with x, the
    gain (which may be 1 + gamma) and the product with it add 5u, the result u′.
    Squares are taken in float32 at least, as everywhere: those of float16 would underflow beside a small eps.
    What x is wrong by moves the exact result as `carried_error` says; the rounding errors are those of the wrong x.
    Where a processor takes subnormal numbers for zero, x and the gain are wrong by those: 1/r, with which x is
    multiplied, may be 1/√eps.
    """
    unit = precision.stored
    squared = precision.growth(x.shape[-1]) + 5.0 * unit
    relative = 1.0 / np.sqrt(1.0 - squared) - 1.0 + 5.0 * unit + precision.output
    exact = Normalised.of(x, eps)
    error = precision.flushed(x) + (0.0 if x_error is None else x_error)
    moved = carried_error(exact, error, centring=False)
    underflow = precision.tiny * (1.0 + np.abs(gain)) + precision.flushed(gain) * (np.abs(exact.result) + moved)
    result, carried = np.abs(exact.result * gain), np.abs(gain) * moved
    return np.asarray(relative * (result + carried) + carried + underflow)
