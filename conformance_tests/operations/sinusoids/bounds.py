"""Rounding error of sinusoidal positions."""

from __future__ import annotations

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.rounding.precision import Precision


def sinusoid_bound(positions: Array, frequencies: Array, precision: Precision) -> Array:
    """Return the error of sin and cos of position times frequency, (length, d_model / 2).

    A frequency 10000^(−2k/d) computed as exp(−2k ln(10000)/d) has the relative error 3u |t| + 3u, t its exponent;
    the angle, rounded once more, is off by that times itself, and sine and cosine by no more than the angle.
    """
    unit = precision.stored
    exponent = np.abs(np.log(frequencies))
    relative = unit * (3.0 * exponent + 4.0)
    angle = np.outer(positions, frequencies)
    bound: Array = angle * relative + 3.0 * unit + precision.output
    return bound
