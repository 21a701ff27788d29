"""Numbers in a narrower dtype: rounded, infinite beyond its range, zero below it."""

from __future__ import annotations

from typing import Any

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.values import round_to_dtype


def _range(dtype: type[np.floating[Any]]) -> tuple[float, float]:
    """Return the smallest number above 0 and the largest."""
    return float(np.finfo(dtype).smallest_subnormal), float(np.finfo(dtype).max)


# bfloat16 has the range of float32.
_RANGES = {"float16": _range(np.float16), "float64": _range(np.float64)}
_OTHERWISE = _range(np.float32)
HALVES = ("float16", "bfloat16")


def in_range(numbers: Array, dtype: str) -> Array:
    """Return numbers as a dtype holds them, but for rounding: infinite or 0 beyond its range, else unchanged."""
    least, most = _RANGES.get(dtype, _OTHERWISE)
    size = np.abs(numbers)
    return np.where(size > most, np.copysign(np.inf, numbers), np.where(size < least / 2, 0.0, numbers))


def rounded_to(dtype: str, numbers: Array) -> Array:
    """Return numbers rounded to a dtype; infinite where they are beyond its largest."""
    rounded = round_to_dtype(numbers, dtype)
    _, most = _RANGES.get(dtype, _OTHERWISE)
    return np.where(np.abs(rounded) > most, np.copysign(np.inf, rounded), rounded)
