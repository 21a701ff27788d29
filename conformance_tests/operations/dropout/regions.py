"""Regions of dropout and of its gradient."""

from __future__ import annotations

from veriformer.conformance_tests.drawing.region import Region, among
from veriformer.conformance_tests.operations.every.regions import with_gradients

_BOTH = with_gradients("dropout")
_CHOICES = among(
    _BOTH,
    ("rate of a half", "p and 1 − p are the same.", lambda c: c.rate == 0.5),
    ("rate other than a half", "p and 1 − p differ.", lambda c: c.rate not in (0.0, 0.5)),
    ("nothing dropped", "The rate is zero.", lambda c: c.rate == 0.0),
    ("dropout in evaluation", "The flag is off.", lambda c: c.training is False),
    ("flag of training left out", "The default decides.", lambda c: c.training is None),
    ("many entries", "Chance decides little about the number of zeros.", lambda c: c.batch * c.rows * c.width >= 2048),
)
REGIONS = (
    *_CHOICES,
    Region(
        "gradients of zeros",
        "Whether an entry was dropped does not show in its value.",
        ("dropout_backward",),
        lambda c: c.rate > 0.0,
        lambda given: bool((given.x == 0.0).any()),
    ),
)
