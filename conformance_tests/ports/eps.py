"""The eps of a norm that was computed in float32, which hides it in a single vector: estimated over many of them."""

from __future__ import annotations

import numpy as np
from veriformer.conformance_tests.recognition.expressions import Norm
from veriformer.conformance_tests.recognition.flow import Flow

_USUAL = (1e-12, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3)
# So many deviations, and so great a part of eps, may the estimate be away from it.
_DEVIATIONS, _PART = 4.0, 0.3
_FEWEST = 8


def estimated_eps(flow: Flow, norm: Norm) -> float | None:
    """Return the usual eps that fits the sizes of a norm's results; None where none does, or where several do.

    With m the mean square before, mean y² = m / (m + eps), so that each vector gives an estimate with an error of some
    roundings of m; those of small m count most.
    """
    before, after = flow.array(norm.of.value) if norm.of.value >= 0 else None, flow.array(norm.value)
    if before is None or before.size != after.size or after.ndim < 2:
        return None
    x, y = before.reshape(-1, after.shape[-1]), after.reshape(-1, after.shape[-1])
    with np.errstate(all="ignore"):
        y = (y - _vector(flow, norm.shift, 0.0)) / _vector(flow, norm.gain, 1.0)
    if not np.isfinite(y).all() or len(x) < _FEWEST:
        return None
    if norm.kind == "layer_norm":
        x = x - x.mean(axis=-1, keepdims=True)
    square, size = (x**2).mean(axis=-1), (y**2).mean(axis=-1)
    if not (square > 0).all() or not (size > 0).all():
        return None
    estimates, weights = square * (1.0 / size - 1.0), 1.0 / square**2
    mean = float((weights * estimates).sum() / weights.sum())
    deviation = float(np.sqrt((weights * (estimates - mean) ** 2).sum() / weights.sum() / (len(x) - 1)))
    fitting = [eps for eps in _USUAL if abs(mean - eps) <= max(_PART * eps, _DEVIATIONS * deviation)]
    return fitting[0] if len(fitting) == 1 and _DEVIATIONS * deviation < fitting[0] else None


def _vector(
    flow: Flow, value: int | None, otherwise: float
) -> float | np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return otherwise if value is None else flow.array(value).ravel()
