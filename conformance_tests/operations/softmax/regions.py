"""Regions of softmax."""

from __future__ import annotations

from veriformer.conformance_tests.drawing.region import BEYOND_EXP, Region, among
from veriformer.conformance_tests.operations.every.regions import with_gradients

_SOFTMAX = with_gradients("softmax")

REGIONS = (
    *among(
        _SOFTMAX,
        (
            "several logits",
            "A weight depends on the other logits.",
            lambda c: c.width > 1,
        ),
        (
            "long sums in a wide dtype",
            "Sums of more than two terms in 32 or 64 bits, which 16 bits do not hold.",
            lambda c: c.width > 2 and c.dtype in ("float32", "float64"),
        ),
    ),
    Region(
        "entries beyond exp",
        "An entry whose exponential overflows.",
        _SOFTMAX,
        lambda c: c.amplitude >= 30,
        lambda given: bool(given.x.max() > BEYOND_EXP[given.dtype]),
    ),
)
