"""Regions of a step of AdamW."""

from __future__ import annotations

from typing import Any

import numpy as np
from veriformer.conformance_tests.drawing.region import Region, among

_STEP = ("adamw_step",)


def _small_gradients(given: Any) -> bool:
    return bool((np.abs(given.gradient) < 10.0 * given.eps).any())


REGIONS = (
    *among(
        _STEP,
        ("first step", "The moments are still zero.", lambda c: c.step == 1),
        ("early step", "The correction matters.", lambda c: 1 < c.step < 20),
        ("late step", "The correction is all but one.", lambda c: c.step >= 1000),
        ("decaying parameter", "Weight decay is on.", lambda c: c.weight_decay > 0.0),
        ("parameter without decay", "Weight decay is off.", lambda c: c.weight_decay == 0.0),
        (
            "decay that matters",
            "Learning rate times decay is no rounding.",
            lambda c: c.learning_rate * c.weight_decay > 0.01,
        ),
        ("betas other than a half", "β and 1 − β are not the same.", lambda c: c.beta1 != 0.5),
    ),
    Region("gradients near eps", "What is added to the root matters.", _STEP, inputs=_small_gradients),
)
