"""Regions of the gradient of the cross-entropy; the loss has regions of its own."""

from __future__ import annotations

import numpy as np
from veriformer.conformance_tests.drawing.region import Region, among

_BACKWARD = ("cross_entropy_backward",)
REGIONS = (
    *among(
        _BACKWARD,
        ("smoothed losses", "Some of the share is the target's own.", lambda c: 0.0 < (c.label_smoothing or 0.0) < 1.0),
    ),
    Region(
        "gradients of losses that differ",
        "Each position has its own.",
        _BACKWARD,
        lambda c: c.reduction == "none" and c.batch * c.length > 1,
        lambda given: bool(np.ptp(given.grad_output) > 0.0),
    ),
)
