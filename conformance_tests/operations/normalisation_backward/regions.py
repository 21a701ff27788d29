"""Regions of the gradients of layer and RMS normalisation."""

from __future__ import annotations

from typing import Any

import numpy as np
from veriformer.conformance_tests.drawing.region import Region, among

_LAYER_NORM = ("layer_norm_backward",)
_NORMS = (*_LAYER_NORM, "rms_norm_backward")


def _has_mean(given: Any) -> bool:
    return bool(((given.grad_output * given.gamma).mean(axis=-1) != 0.0).all())


REGIONS = (
    *among(_NORMS, ("several vectors", "Vectors that a gradient may mix.", lambda c: c.batch * c.rows > 1)),
    Region("gradients with a mean", "A mean is taken off the gradient of every vector.", _LAYER_NORM, inputs=_has_mean),
    Region(
        "a gain other than one",
        "A gain that a gradient does not pass unchanged.",
        _NORMS,
        inputs=lambda given: bool((given.gamma != 1.0).any()),
    ),
    Region(
        "gains that differ",
        "Two components with gains of their own.",
        _LAYER_NORM,
        inputs=lambda given: len(np.unique(given.gamma)) > 1,
    ),
)
