"""Regions of merged attention."""

from __future__ import annotations

from typing import Any

import numpy as np
from veriformer.conformance_tests.drawing.region import BEYOND_EXP, Region, among
from veriformer.conformance_tests.operations.every.regions import with_gradients

_MERGE = with_gradients("merge_attention")


def _logarithms(given: Any) -> np.ndarray:
    every = np.concatenate([given.lse_a.ravel(), given.lse_b.ravel()])
    return np.asarray(every[np.isfinite(every)])


REGIONS = (
    *among(
        _MERGE,
        ("two parts with keys", "No part is empty.", lambda c: c.empty == "none"),
        ("one empty part", "Rows with one part without keys.", lambda c: c.empty == "one"),
        ("two empty parts", "Rows with neither part having keys.", lambda c: c.empty == "both"),
    ),
    Region(
        "logarithms other than zero",
        "The base of the logarithm shows.",
        _MERGE,
        inputs=lambda given: bool((np.abs(_logarithms(given)) > 1).any()),
    ),
    Region(
        "logarithms beyond exp",
        "A logarithm whose exponential overflows.",
        _MERGE,
        lambda c: c.amplitude >= 10,
        lambda given: bool(_logarithms(given).max() > BEYOND_EXP[given.dtype]),
    ),
)
