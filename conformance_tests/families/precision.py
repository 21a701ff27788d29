"""What numbers become in a narrower dtype: rounded, infinite beyond its range, zero below it."""

from __future__ import annotations

from typing import Any

import numpy as np
from veriformer.conformance_tests.families.family import Array


def _range(dtype: type[np.floating[Any]]) -> tuple[float, float]:
    """Return the smallest number above 0 and the largest."""
    return float(np.finfo(dtype).smallest_subnormal), float(np.finfo(dtype).max)


# bfloat16 has the range of float32.
_RANGES = {"float16": _range(np.float16), "float64": _range(np.float64)}
_OTHERWISE = _range(np.float32)


def in_range(numbers: Array, dtype: str) -> Array:
    """Return numbers that are not negative, infinite where a dtype has none as large, 0 where none as small."""
    least, most = _RANGES.get(dtype, _OTHERWISE)
    return np.asarray(np.where(numbers > most, np.inf, np.where(numbers < least / 2, 0.0, numbers)))
