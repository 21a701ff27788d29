"""Which numbers a dtype of 16 bits holds: they are stored without rounding."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from veriformer.conformance_tests.tolerances.precision import Precision

Array = np.ndarray


def kept_exactly(query: Array, key: Array, scale: float, logits: Iterable[Array], precision: Precision) -> Array:
    """Return which logits (..., L, S) are stored exactly, in whatever order they are scaled.

    The scale is 4^n: it may be applied to queries, to keys, to the product, or as a root to both, and only moves the
    exponent. The scaled product and the logit with its bias, the arrays `logits`, are numbers of the dtype, hence the
    unscaled product too; and no scaled query or key underflows.
    """
    exact = np.ones((*query.shape[:-1], key.shape[-2]), dtype=bool)
    root, exponent = math.frexp(math.sqrt(abs(scale)))
    if root != 0.5:
        return np.zeros_like(exact)
    for array in logits:
        exact &= representable(array, precision)
    smallest = 2.0 ** (2 * min(exponent - 1, 0))
    query_fits, key_fits = (representable(array * smallest, precision).all(axis=-1) for array in (query, key))
    return np.asarray(exact & query_fits[..., :, None] & key_fits[..., None, :])


def representable(values: Array, precision: Precision) -> Array:
    """Return which values are 0 or normal numbers of the dtype in which intermediate results are stored."""
    mantissa, _ = np.frexp(values)
    digits = mantissa / precision.stored
    return np.asarray((digits == np.rint(digits)) & ((values == 0.0) | (np.abs(values) >= precision.tiny)))
