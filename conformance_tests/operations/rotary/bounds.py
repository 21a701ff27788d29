"""Rounding error of rotary embeddings."""

from __future__ import annotations

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.rounding.precision import UNIT_ROUNDOFF, Precision

_SINGLE = UNIT_ROUNDOFF["float32"]


def rotary_bound(
    first: Array,
    second: Array,
    angles: Array,
    frequencies: Array,
    precision: Precision,
    errors: tuple[Array, Array] | None = None,
) -> Array:
    """Return the error of x_a cos θ ∓ x_b sin θ, the same for both components of a pair.

    Angles are of float32 whatever the vectors are: popular implementations compute them so for float64 vectors too,
    and 16 bits do not hold positions. A frequency e^(−t), t = 2k/r · ln(base), has the relative error u (5t + 3): the
    quotient, the logarithm (2 u) and their product, up to two roundings of t's sign and scale, and 3 u for the
    exponential and a reciprocal; the angle is rounded once more. Sine and cosine are off by no more than the angle
    and by 2 u, and are kept in the vectors' dtype but in no more than float32. Then come a product, a sum, and the
    rounding of the result: |δy| ≤ (|x_a| + |x_b|) δ + ((1 + u_t)(1 + u)²(1 + u_out) − 1)(|x_a cos θ| + |x_b sin θ|).
    Components that are themselves wrong by `errors` hand on |δx_a cos θ| + |δx_b sin θ|, and are rounded as what they
    have become.
    """
    exponent = np.abs(np.log(frequencies))
    moved = np.minimum(angles * _SINGLE * (5.0 * exponent + 4.0), 2.0) + 2.0 * _SINGLE
    table = max(precision.stored, _SINGLE)
    relative = (1.0 + table) * (1.0 + precision.stored) ** 2 * (1.0 + precision.output) - 1.0
    cos, sin = np.abs(np.cos(angles)), np.abs(np.sin(angles))
    one, other = np.abs(first), np.abs(second)
    carried: Array = np.zeros(()) if errors is None else _turned(*errors, cos, sin)
    if errors is not None:
        one, other = one + errors[0], other + errors[1]
    largest = _turned(one, other, cos, sin)
    bound: Array = (one + other) * moved * (1.0 + relative) + relative * largest + 2.0 * precision.tiny
    return np.asarray(bound + carried)


def _turned(one: Array, other: Array, cos: Array, sin: Array) -> Array:
    """Return the larger of what two amounts turn into: either may meet either function, and one bound serves both."""
    return np.asarray(np.maximum(one * cos + other * sin, one * sin + other * cos))
