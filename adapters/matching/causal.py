"""Whether an attention is always causal: its results say so, or its name, or which keys change which queries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from veriformer.adapters.matching.forms import Form
from veriformer.adapters.matching.layouts import ATTENTION
from veriformer.adapters.matching.probes import Probe, is_near
from veriformer.adapters.matching.trying import Trials
from veriformer.spec.operations import OPERATIONS

# How far from its own position the first or the last key may be that a query sees.
_OFFSETS = (-2, -1, 0, 1, 2)


def hides_later_keys(trials: Trials, form: Form, probe: Probe, result: np.ndarray) -> bool:
    """Return whether an attention that is wrong hides keys as a causal one does, or as one with a wrong triangle.

    Other numbers in a key and its value change the queries that see it: these are all from some diagonal on, or all up
    to one, counted from the first keys or the last. A query that sees no key has NaN, or sees every key.
    """
    attends = form.operation in (*ATTENTION, "multi_head_attention")
    if not attends or is_near(result, probe.expected) or result.ndim < len(("L", "D")):
        return False
    seen = _seen(trials, form, probe, result)
    return seen is not None and any(_is_seen(seen, one, _without_numbers(result)) for one in _triangles(*seen.shape))


def _seen(trials: Trials, form: Form, probe: Probe, result: np.ndarray) -> np.ndarray | None:
    """Return which query gets another result from which key, (L, S); None where all see both ends, or a call fails."""
    name = next((one for one in ("key", "context", "x") if one in probe.arguments), "")
    if not name:
        return None
    last, *others = reversed(range(1, probe.arguments[name].shape[-2]))
    columns: dict[int, np.ndarray] = {}
    # The ends first, which tell most attentions from triangles.
    for key in (0, last, *others):
        changed = _rows_changed(trials, form, probe, result, key)
        if changed is None or changed.size < 3 or (key == last and (columns[0] & changed).all()):
            return None
        columns[key] = changed
    return np.stack([columns[key] for key in sorted(columns)], axis=-1)


def _triangles(queries: int, keys: int) -> Iterator[np.ndarray]:
    """Yield what queries see that is everything on one side of a diagonal, and not everything there is."""
    for diagonal in dict.fromkeys(one + last for last in (0, keys - queries) for one in _OFFSETS):
        lower = np.tri(queries, keys, diagonal, dtype=bool)
        yield from (one for one in (lower, ~lower) if np.unique(one.sum(axis=1)).size >= 3)


def _is_seen(seen: np.ndarray, triangle: np.ndarray, is_nan: np.ndarray) -> bool:
    """Return whether queries see what a triangle shows; one that sees nothing has NaN, or the mean of everything."""
    empty = ~triangle.any(axis=1)
    agree = (seen == triangle).all(axis=1) & ~is_nan
    return bool((agree | (empty & (is_nan | seen.all(axis=1)))).all())


def _without_numbers(result: np.ndarray) -> np.ndarray:
    """Return which queries, (L,), have NaN in every sample and head."""
    axes = tuple(axis for axis in range(result.ndim) if axis != result.ndim - 2)
    return np.asarray(np.isnan(result).all(axis=axes))


def _rows_changed(trials: Trials, form: Form, probe: Probe, result: np.ndarray, key: int) -> np.ndarray | None:
    """Return which queries, (L,), get another result where a key and its value have other numbers."""
    arguments = dict(probe.arguments)
    # What attends to itself has its queries changed too.
    itself = ("x",) if arguments.get("context") is arguments.get("x") else ()
    for name in ("key", "value", "context", *itself):
        if name in arguments:
            arguments[name] = arguments[name].copy()
            arguments[name][..., key, :] += 1.0
    other = trials.result(form, Probe(probe.operation, arguments, probe.expected))
    if other is None or other.shape != result.shape:
        return None
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
