"""Rounding error of an entry that dropout keeps."""

from __future__ import annotations

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.rounding.precision import Precision


def kept_bound(kept: Array, rate: float, precision: Precision) -> Array:
    """Return the error of x / (1 − p), entry by entry, whose exact values are `kept`.

    |δy| ≤ ((1 + u)³ / (1 − e) − 1) |y| + tiny,   e = u p / (1 − p)

    p is rounded to the dtype, which moves 1 − p by e (1 − p) at most. The difference is rounded, its reciprocal, and
    the product with x; a quotient has one rounding less.
    """
    unit = precision.stored
    of_rate = unit * rate / (1.0 - rate)
    relative = np.expm1(3.0 * np.log1p(unit) - np.log1p(-of_rate))
    return np.asarray((relative * np.abs(kept) + precision.tiny) * precision.with_reference)
