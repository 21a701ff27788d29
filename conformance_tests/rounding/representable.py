"""The numbers that a dtype of 16 bits holds, which are stored without rounding.

Derivation: rounding_of_sums, of the stored number and the one it stands for.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.rounding.precision import Precision


def kept_exactly(query: Array, key: Array, scale: float, logits: Iterable[Array], precision: Precision) -> Array:
    """Return which logits (..., L, S) are stored exactly, whether queries, keys or products are scaled.

    The scale is 2^n, which only moves the exponent. The scaled product and the logit with its bias, the arrays
    `logits`, are numbers of the dtype, hence the unscaled product too; and no scaled query or key underflows.
    """
    exact = np.ones((*query.shape[:-1], key.shape[-2]), dtype=bool)
    if not power_of_two(scale):
        return np.zeros_like(exact)
    for array in logits:
        exact &= representable(array, precision)
    smallest = min(abs(scale), 1.0)
    query_fits, key_fits = (
        np.asarray(representable(array * smallest, precision).all(axis=-1)) for array in (query, key)
    )
    return np.asarray(exact & query_fits[..., :, None] & key_fits[..., None, :])


def power_of_two(number: float) -> bool:
    """Return whether a number is ±2^n, n an integer."""
    return abs(math.frexp(number)[0]) == 0.5


def rounding(values: Array, precision: Precision) -> Array:
    """Return by how much each value changes when it is stored, underflow aside."""
    return np.asarray(np.abs(stored(values, precision) - values))


def rounding_of_multiple(values: Array, factor: float, precision: Precision) -> Array:
    """Return by how much a stored factor · value may be wrong, whether the factor was stored too or not."""
    exact = factor * values
    of_stored_factor = stored(stored(np.asarray(factor), precision) * values, precision)
    return np.asarray(np.maximum(rounding(exact, precision), np.abs(of_stored_factor - exact)))


def stored(values: Array, precision: Precision) -> Array:
    """Return values as they are stored, underflow and overflow aside."""
    mantissa, exponent = np.frexp(values)
    return np.asarray(np.ldexp(np.rint(mantissa / precision.stored) * precision.stored, exponent))


def representable(values: Array, precision: Precision) -> Array:
    """Return which values are 0 or normal numbers of the dtype in which intermediate results are stored."""
    return np.asarray((rounding(values, precision) == 0.0) & ((values == 0.0) | (np.abs(values) >= precision.tiny)))
