"""Whether an attention is always causal: its results say so, or its name, or which keys change which queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from veriformer.adapters.matching.forms import Form
from veriformer.adapters.matching.layouts import ATTENTION
from veriformer.adapters.matching.probes import Probe, is_near
from veriformer.adapters.matching.trying import Trials
from veriformer.spec.operations import OPERATIONS


def hides_later_keys(trials: Trials, form: Form, probe: Probe, result: np.ndarray) -> bool:
    """Return whether an attention that is wrong hides keys as a causal one does, which is no part of what is wrong.

    Other numbers in the last key change the last query alone, or none, or the one before too, where a query sees one
    key too many; those in the first one change every query, those in the last but two the last query and not the first.
    """
    attends = form.operation in (*ATTENTION, "multi_head_attention")
    if not attends or is_near(result, probe.expected) or result.ndim < len(("L", "D")):
        return False
    of_last = _rows_changed(trials, form, probe, result, -1)
    if of_last.size < 3 or of_last[:-2].any():
        return False
    of_first = _rows_changed(trials, form, probe, result, 0)
    if not of_first.size or not of_first.all():
        return False
    between = _rows_changed(trials, form, probe, result, -3)
    return bool(between.size >= 3 and between[-1] and not between[0])


def _rows_changed(trials: Trials, form: Form, probe: Probe, result: np.ndarray, key: int) -> np.ndarray:
    """Return which queries, (L,), get another result where a key has other numbers; empty for none."""
    arguments = dict(probe.arguments)
    # What attends to itself has its queries changed too.
    itself = ("x",) if arguments.get("context") is arguments.get("x") else ()
    for name in ("key", "value", "context", *itself):
        if name in arguments:
            arguments[name] = arguments[name].copy()
            arguments[name][..., key, :] += 1.0
    other = trials.result(form, Probe(probe.operation, arguments, probe.expected))
    if other is None or other.shape != result.shape:
        return np.zeros(0, dtype=bool)
    differs = ~np.isclose(result, other, rtol=1e-4, atol=1e-6)
    return np.asarray(differs.any(axis=tuple(axis for axis in range(result.ndim) if axis != result.ndim - 2)))


def causal_or_not(
    form: Form, probe: Probe, result: np.ndarray, words: Sequence[str], *, must: bool
) -> tuple[Form, Probe]:
    """Return a form that is always causal where its results are those, or are called so and are not the others."""
    operation = form.operation
    may_be = "is_causal" in OPERATIONS[operation].features and "is_causal" not in form.features
    if not may_be or (is_near(result, probe.expected) and not must):
        return form, probe
    causal = probe.with_argument("is_causal", True)
    if not is_near(result, causal.expected) and "causal" not in words and not must:
        return form, probe
    return (
        replace(
            form,
            features=(*form.features, "is_causal"),
            fixed_values={**form.fixed_values, f"{operation}.is_causal": True},
            words=(*form.words, "always causal"),
        ),
        causal,
    )
