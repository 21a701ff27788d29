"""Attention in float16, where a finite number that hides a key may be beyond the largest one, 65504."""

from __future__ import annotations

import numpy as np
from veriformer.adapters.matching.forms import Form
from veriformer.adapters.matching.layouts import ATTENTION
from veriformer.adapters.matching.masks import masked_probe
from veriformer.adapters.matching.probes import Probe
from veriformer.adapters.matching.trying import Trials


def words(trials: Trials, form: Form, probe: Probe) -> tuple[str, ...]:
    """Return what is said of an attention with a mask that is finite in float32, and NaN in float16."""
    if form.operation not in ATTENTION or "mask" not in form.features:
        return ()
    one = masked_probe(probe)
    result = trials.result(form, one)
    if result is None or not np.isfinite(result).all():
        return ()
    half = Trials(trials.function, trials.framework, dtype="float16").result(form, one)
    is_lost = half is not None and half.shape == result.shape and np.isnan(half.astype(np.float32)).any()
    return ("in float16 it gives NaN where a key is hidden",) if is_lost else ()
