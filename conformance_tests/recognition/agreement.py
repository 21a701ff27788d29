"""Whether two arrays agree, up to the rounding of the precision that they were computed in."""

from __future__ import annotations

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array

DOUBLE = 2.0**-53
SINGLE = 2.0**-24
HALF = 2.0**-11
BFLOAT = 2.0**-8
# A part rounds its result, and carries on what it rounded inside: sums over the width, exponentials of sums. For widths
# up to thousands, with entries of mixed signs, that stays below this many units of the largest entry.
_ROUNDINGS = 4096.0


def unit_of(*arrays: Array) -> float:
    """Return the unit roundoff of the coarsest precision that one of the arrays was computed in.

    An array whose entries are all numbers of float32 was computed in it, whatever it was cast to later; the same holds
    for the half precisions. Whole numbers say nothing.
    """
    return max((_unit(array) for array in arrays), default=DOUBLE)


def _unit(array: Array) -> float:
    numbers = array[np.isfinite(array)] if array.dtype.kind == "f" else np.empty(0)
    sample = numbers.ravel()[:4096]
    with np.errstate(over="ignore"):
        single = sample.astype(np.float32)
        if not np.array_equal(single, sample) or _says_nothing(sample):
            return DOUBLE
        if np.array_equal(single.astype(np.float16), sample):
            return HALF
    kept = single.view(np.uint32) & np.uint32(0xFFFF)
    return BFLOAT if not kept.any() else SINGLE


def _says_nothing(sample: Array) -> bool:
    return sample.size == 0 or bool(np.array_equal(np.round(sample * 64) / 64, sample))


def agree(got: Array, expected: Array, unit: float = DOUBLE) -> bool:
    """Return whether two arrays are equal up to rounding in units of the largest finite entry."""
    if got.shape != expected.shape:
        return False
    same = (got == expected) | (np.isnan(got) & np.isnan(expected))
    if same.all():
        return True
    with np.errstate(invalid="ignore"):
        error = np.abs(got - expected)
    if not np.isfinite(error[~same]).all():
        return False
    return bool(error[~same].max() <= allowed(expected, unit))


def allowed(expected: Array, unit: float) -> float:
    """Return by how much an entry may differ from the expected one."""
    finite = np.abs(expected[np.isfinite(expected)])
    return float(_ROUNDINGS * unit * finite.max(initial=0.0))


def distance(got: Array, expected: Array) -> float:
    """Return the largest difference as a part of the largest entry; infinite where shapes or infinities differ."""
    if got.shape != expected.shape:
        return float("inf")
    with np.errstate(invalid="ignore"):
        error = np.where((got == expected) | (np.isnan(got) & np.isnan(expected)), 0.0, np.abs(got - expected))
    if not np.isfinite(error).all():
        return float("inf")
    largest = float(np.abs(expected[np.isfinite(expected)]).max(initial=0.0))
    return float(error.max(initial=0.0)) / largest if largest else float(error.max(initial=0.0))
