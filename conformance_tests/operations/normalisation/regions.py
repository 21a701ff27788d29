"""Regions of layer and RMS normalisation."""

from __future__ import annotations

from typing import Any

import numpy as np
from veriformer.conformance_tests.drawing.region import Region, among
from veriformer.conformance_tests.operations.every.regions import with_gradients

_LAYER_NORM, _RMS_NORM = with_gradients("layer_norm"), with_gradients("rms_norm")
_NORMS = (*_LAYER_NORM, *_RMS_NORM)
# With an eps of a hundredth of what it is added to, the root is wrong in the third digit wherever eps is misplaced.
_NOTICEABLE = 0.01


def _mean_squares(given: Any) -> np.ndarray:
    return np.asarray(np.square(given.x).mean(axis=-1))


def _near_eps(statistic: np.ndarray, eps: float) -> bool:
    return bool(((statistic > 0) & (statistic * _NOTICEABLE < eps)).any())


REGIONS = (
    *among(
        _NORMS,
        ("eps that matters", "An eps of a tenth.", lambda c: c.eps == 0.1),
        ("eps that hardly matters", "The eps of 1e-5.", lambda c: c.eps < 1e-4),
    ),
    Region(
        "variance near eps",
        "A variance of which eps is a hundredth at least.",
        _LAYER_NORM,
        inputs=lambda given: _near_eps(given.x.var(axis=-1), given.eps),
    ),
    Region(
        "mean square near eps",
        "A mean square, not zero, of which eps is a hundredth at least.",
        _RMS_NORM,
        inputs=lambda given: _near_eps(_mean_squares(given), given.eps),
    ),
    Region(
        "mean square other than one",
        "Another root does not pass for this one.",
        _RMS_NORM,
        inputs=lambda given: bool((np.abs(_mean_squares(given) - 1) > _NOTICEABLE).any()),
    ),
)
