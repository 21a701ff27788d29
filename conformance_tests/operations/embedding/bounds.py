"""Rounding error of a scaled token embedding."""

from __future__ import annotations

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.rounding.precision import Precision


def embedding_bound(scaled: Array, precision: Precision) -> Array:
    """Return the largest rounding error of √E W[t]: 2u + u′ of each entry, for the root, its rounding, the product.

    Without the scale there is none: a lookup is a copy, and a product with one-hot rows adds zeros.
    """
    bound: Array = (2.0 * precision.stored + precision.output) * np.abs(scaled) + precision.tiny
    return bound
