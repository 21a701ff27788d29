"""Numbers in a narrower dtype: rounded, infinite beyond its range, with few places or zero below it."""

from __future__ import annotations

from typing import Any

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.values import round_to_dtype


def _range(dtype: type[np.floating[Any]]) -> tuple[float, float, float]:
    """Return the smallest number above 0, the smallest with all its places, and the largest."""
    numbers = np.finfo(dtype)
    return float(numbers.smallest_subnormal), float(numbers.smallest_normal), float(numbers.max)


# bfloat16 has the range of float32.
_RANGES = {"float16": _range(np.float16), "float64": _range(np.float64)}
_OTHERWISE = _range(np.float32)
HALVES = ("float16", "bfloat16")


def in_range(numbers: Array, dtype: str) -> Array:
    """Return numbers as a dtype holds them, but for the rounding of normal numbers, which stay unchanged.

    They are infinite beyond its range, and multiples of its smallest number where they have not all their places: in
    float32 the logarithm of exp(−100) is −99.98.
    """
    least, normal, most = _RANGES.get(dtype, _OTHERWISE)
    size = np.abs(numbers)
    small = np.rint(np.where(size < normal, numbers, 0.0) / least) * least
    return np.where(size > most, np.copysign(np.inf, numbers), np.where(size < normal, small, numbers))


def rounded_to(dtype: str, numbers: Array) -> Array:
    """Return numbers rounded to a dtype; infinite where they are beyond its largest."""
    rounded = round_to_dtype(numbers, dtype)
    *_, most = _RANGES.get(dtype, _OTHERWISE)
    return np.where(np.abs(rounded) > most, np.copysign(np.inf, rounded), rounded)
