"""The verdict on one case: the expected and the actual result, and their difference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array


@dataclass(frozen=True)
class Verdict:
    """Whether a law holds on a case.

    `wrong` marks the entries that differ by more than rounding explains; `excess` is the largest error as a multiple of
    the allowed error (infinite if that is 0). Expectations in words have no arrays.
    """

    holds: bool
    expected: Array | str
    actual: Array | str
    wrong: Array | None = None
    excess: float = 0.0
    note: str = ""


def compare(
    expected: Array,
    actual: Array,
    allowed: Array,
    judged: Array | None = None,
    note: str = "",
    *,
    may_be_nan: bool = True,
) -> Verdict:
    """Compare two arrays entry by entry against an absolute error bound.

    An entry that is not finite must match exactly: NaN where NaN is expected, the same infinity. If both sides come
    from the implementation, `may_be_nan` False counts NaN as wrong on either.
    """
    expected = np.asarray(expected, dtype=np.float64)
    actual = np.asarray(actual, dtype=np.float64)
    if expected.shape == actual.shape and (expected == actual).all():
        return Verdict(True, expected, actual, np.zeros(expected.shape, dtype=bool), 0.0, note)
    judged = np.ones(expected.shape, dtype=bool) if judged is None else judged
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        error = np.abs(actual - expected)
        same = (actual == expected) | (may_be_nan & np.isnan(actual) & np.isnan(expected))
        wrong = judged & ~same & ~(error <= allowed)
        ratio = np.where(same, 0.0, np.where(np.isnan(error), np.inf, error / allowed))
    excess = float(np.max(np.where(judged, ratio, 0.0), initial=0.0))
    return Verdict(not wrong.any(), expected, actual, wrong, excess, note)


def words(expected: str, actual: str, *, holds: bool) -> Verdict:
    """Return a verdict about a dtype, a shape, a signature or anything else that is no array."""
    return Verdict(holds, expected, actual, excess=0.0 if holds else float("inf"))
