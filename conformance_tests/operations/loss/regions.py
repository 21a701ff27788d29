"""Regions of the cross-entropy."""

from __future__ import annotations

from typing import Any

from veriformer.conformance_tests.drawing.region import BEYOND_EXP, Region, among
from veriformer.conformance_tests.operations.every.regions import with_gradients

_LOSS = with_gradients("cross_entropy")


def _samples_keep_different_numbers(given: Any) -> bool:
    kept = (given.targets != given.ignore_index).sum(axis=-1)
    return bool((kept != kept[0]).any())


REGIONS = (
    *among(
        _LOSS,
        ("nothing ignored", "Every target counts.", lambda c: c.ignore == "none"),
        ("ignored value is no class", "As −100.", lambda c: c.ignore == "outside"),
        ("ignored value is minus one", "An index from the end.", lambda c: c.ignore == "minus_one"),
        ("ignored value is a class", "As that of padding.", lambda c: c.ignore == "inside"),
        ("ignored targets", "Some targets do not count.", lambda c: c.ignore != "none"),
        ("ignored and smoothed", "Both at once.", lambda c: c.ignore != "none" and c.label_smoothing),
        ("smoothed by nothing", "A share of zero is given.", lambda c: c.label_smoothing == 0.0),
        ("summed losses", "The sum is requested.", lambda c: c.reduction == "sum"),
        ("each loss", "Nothing is reduced.", lambda c: c.reduction == "none"),
        ("each loss, some ignored", "Ignored ones are zero.", lambda c: c.reduction == "none" and c.ignore != "none"),
        ("one class", "Nothing to choose from.", lambda c: c.classes == 1),
        ("several classes", "The axis of classes is a real one.", lambda c: c.classes > 1),
        ("many classes", "One more than 64.", lambda c: c.classes == 65),
        ("one target", "A single position.", lambda c: c.batch * c.length == 1),
        ("targets of several samples", "Both axes are real.", lambda c: c.batch > 1 < c.length),
    ),
    Region(
        "samples with different numbers of targets",
        "A mean of means is not the mean.",
        _LOSS,
        lambda c: c.ignore != "none" and c.batch > 1,
        _samples_keep_different_numbers,
    ),
    Region(
        "classes beyond exp",
        "A logit whose exponential overflows.",
        _LOSS,
        lambda c: c.amplitude >= 30,
        lambda given: bool(given.logits.max() > BEYOND_EXP[given.dtype]),
    ),
)
