"""Questions about training: what is added to the norm of gradients, and where a warm-up starts."""

from __future__ import annotations

import numpy as np
from veriformer.conformance_tests.conventions.asking import Answer, Asking
from veriformer.conformance_tests.operations.clipping.inputs import ClipInputs
from veriformer.conformance_tests.operations.schedules.inputs import CosineInputs

# A power of two so small that 1e-6 is nearly the norm of 3 and 4 times as much; float16 does not hold its square.
_TINY = 2.0**-22


def clip_norm_eps(asking: Asking) -> Answer:
    """Ask with gradients so small that 1e-6 is a share of their norm."""
    gradients = np.array([[3.0, 0.0]]) * _TINY, np.array([0.0, -4.0, 0.0]) * _TINY
    return asking.compared([ClipInputs(asking.widest, gradients, 2.0 * _TINY)])


def warmup_start(asking: Asking) -> Answer:
    """Ask at the first steps of a short warm-up, without a least rate, which might have a part in it by mistake."""
    return asking.compared([CosineInputs(step, 1.0, 0.0, 4, 10, asking.widest) for step in (0, 1, 3)])
