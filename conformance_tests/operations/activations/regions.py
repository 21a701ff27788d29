"""Regions of GELU and SiLU."""

from __future__ import annotations

from typing import Any

import numpy as np
from veriformer.conformance_tests.drawing.region import Region


def _between_two_and_three(given: Any) -> bool:
    return bool(((np.abs(given.x) >= 2) & (np.abs(given.x) <= 3)).any())


REGIONS = (
    Region(
        "entries between 2 and 3",
        "The forms of GELU differ most there, in a dtype that distinguishes them.",
        ("gelu",),
        lambda c: c.dtype in ("float32", "float64"),
        _between_two_and_three,
    ),
)
