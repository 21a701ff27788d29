"""Questions about training: what is added to the norm of gradients, and where a warm-up starts."""

from __future__ import annotations

import numpy as np
from veriformer.conformance_tests.conventions.asking import Answer, Asking
from veriformer.conformance_tests.operations.clipping.inputs import ClipInputs
from veriformer.conformance_tests.operations.schedules.inputs import CosineInputs

# About 1e-6, so that this is a share of the norm; a power of two, which every dtype holds but float16.
_TINY = 2.0**-20


def clip_norm_eps(asking: Asking) -> Answer:
    """Ask with gradients so small that 1e-6 is a share of their norm."""
    gradients = np.array([[3.0, 0.0], [0.0, -4.0]]) * _TINY, np.array([0.0, 12.0, 0.0]) * _TINY
    return asking.compared([ClipInputs(asking.widest, gradients, 2.0 * _TINY)])


def warmup_start(asking: Asking) -> Answer:
    """Ask at the first steps of a short warm-up."""
    return asking.compared([CosineInputs(step, 1.0, 0.5, 4, 10, asking.widest) for step in (0, 1, 3)])
