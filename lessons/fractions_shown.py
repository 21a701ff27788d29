"""Numbers for a reader of a small case: exact fractions where a number is one, else a few digits."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

# Within this a float64 result of a few operations is the fraction; a larger denominator would fit by chance.
_EXACT_WITHIN = 1e-9
_LARGEST_DENOMINATOR = 60


def as_fraction(value: float) -> Fraction | None:
    """Return the fraction of a small denominator that a number is, None where it is none."""
    if not math.isfinite(value):
        return None
    near = Fraction(value).limit_denominator(_LARGEST_DENOMINATOR)
    return near if abs(float(near) - value) <= _EXACT_WITHIN else None


def exact(value: float | bool, digits: int = 4) -> str:
    """Return a number as a fraction where it is one, else with a few digits; True and False as T and F."""
    from veriformer.conformance_tests.reports.figures import cell

    if isinstance(value, bool | np.bool_):
        return cell(value)
    fraction = as_fraction(float(value))
    return cell(value, digits) if fraction is None else str(fraction)


def inexact_entries(array: np.ndarray) -> int:
    """Return how many entries of an array are no fractions of a small denominator."""
    return sum(as_fraction(float(value)) is None for value in np.asarray(array).ravel())
