"""Rounding error of linear biases, and the distances at which rounding decides about a bucket."""

from __future__ import annotations

import math

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.rounding.precision import UNIT_ROUNDOFF

# These operations are given no array of floats, so nothing says in which precision they work: float32 is allowed.
_SINGLE = UNIT_ROUNDOFF["float32"]


def alibi_bound(bias: Array, slopes: Array) -> Array:
    """Return the error of slope times distance, (H, L, S).

    A slope 2^(−t) is a power of the first slope, in at most 2H factors, or computed alone. The first slope's exponent
    has two roundings, which its power multiplies with it: 2u ln 2 · t in all. The first slope is rounded (2 u) and so
    is each product of the power: 3u for each factor. The product with the distance is rounded, and the result: 2u.
    """
    exponent = -np.log2(slopes)
    relative = _SINGLE * (2.0 * math.log(2.0) * exponent + 6.0 * len(slopes) + 2.0)
    bound: Array = np.abs(bias) * relative[:, None, None]
    return bound


def decided(distance: Array, buckets: int, max_distance: int) -> Array:
    """Return where float32 and float64 must agree about the bucket of a distance; `buckets` are those of one direction.

    v = ln(n/h) / ln(max_distance/h) · (N − h), h = N/2. As one logarithm its numerator errs by u, for the quotient,
    and 2u of itself; as a difference by 2u (ln n + ln h) and u of itself. The denominator's error is the same with
    max_distance for n, and quotient and product add 2u. Where v lies closer to an integer than that, the floor is the
    rounding's to choose, unless it makes no difference: ln 1 is 0, and from N − 1 on there is one bucket.
    """
    near = buckets // 2
    n = np.maximum(distance, near)
    numerator, denominator = np.log(n / near), math.log(max_distance / near)
    value = numerator / denominator * (buckets - near)
    above, below = _logarithm_error(n, near), _logarithm_error(np.asarray(max_distance), near)
    error = (buckets - near) / denominator * above + value * (below / denominator + 2.0 * _SINGLE)
    error = np.where(n == near, 0.0, 1.01 * error)
    last = buckets - 1 - near
    same = np.minimum(np.floor(value - error), last) == np.minimum(np.floor(value + error), last)
    return np.asarray((distance < near) | same)


def _logarithm_error(n: Array, near: int) -> Array:
    quotient = np.log(n / near)
    return np.asarray(_SINGLE * (1.0 + 2.0 * quotient + 2.0 * (np.log(n) + math.log(near))))
