"""Boolean masks of the kinds that hide mistakes, in every shape that broadcasts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.regimes import samples_of
from veriformer.conformance_tests.operations.attention.case import AttentionCase


def draw_mask(case: AttentionCase, generator: np.random.Generator) -> Array | None:
    """Return the mask of a case, True where a query may attend, in the shape that the case names. Every row keeps at
    least one key visible under an additional causal flag, unless the case requires empty rows: laws of empty rows are
    separate.
    """
    if case.mask == "none":
        return None
    shape = _broadcast_shape(case)
    if not case.regimes or shape[0] == 1:
        visible = _drawn(case.mask, shape, case, generator)
        return visible.reshape(shape[2:]) if case.mask_shape == "lengths" else visible
    visible, kinds = np.empty(shape, dtype=bool), tuple(regime.mask for regime in case.regimes)
    for kind in dict.fromkeys(kinds):
        samples = samples_of(shape[0], kinds, kind)
        visible[samples] = _drawn(kind, (len(samples), *shape[1:]), case, generator)
    return visible


def _drawn(kind: str, shape: tuple[int, ...], case: AttentionCase, generator: np.random.Generator) -> Array:
    visible = _PATTERNS[kind](generator, shape)
    if kind != "empty_rows":
        _keep_one_key(visible, case, generator)
    return visible


def _broadcast_shape(case: AttentionCase) -> tuple[int, int, int, int]:
    queries, keys = case.query_length, case.key_length
    return {
        "full": (case.batch, case.heads, queries, keys),
        "shared_by_heads": (case.batch, 1, queries, keys),
        "shared_by_batch": (1, case.heads, queries, keys),
        "lengths": (1, 1, queries, keys),
        "keys_only": (case.batch, 1, 1, keys),
    }[case.mask_shape]


def _random(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return generator.random(shape) < 0.6


def _padding(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    lengths = generator.integers(1, shape[-1] + 1, (*shape[:-2], 1, 1))
    return np.broadcast_to(np.arange(shape[-1]) < lengths, shape).copy()


def _left_padding(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return _padding(generator, shape)[..., ::-1].copy()


def _one_visible(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    chosen = generator.integers(0, shape[-1], (*shape[:-1], 1))
    return np.asarray(np.arange(shape[-1]) == chosen)


def _empty_rows(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    visible = _random(generator, shape)
    visible |= np.arange(shape[-1]) == generator.integers(0, shape[-1], (*shape[:-1], 1))
    emptied = generator.random(shape[:-1]) < 0.4
    # The last row of the last sample is always empty: a law about empty rows must meet one.
    emptied[-1, -1, -1] = True
    visible[emptied] = False
    return visible


_PATTERNS: dict[str, Callable[[np.random.Generator, tuple[int, ...]], Array]] = {
    "random": _random,
    "padding": _padding,
    "left_padding": _left_padding,
    "one_visible": _one_visible,
    "empty_rows": _empty_rows,
}


def _keep_one_key(visible: Array, case: AttentionCase, generator: np.random.Generator) -> None:
    if case.is_causal:
        # Key 0 is the one key that every query sees under either alignment (when any is visible at all).
        visible[..., 0] = True
        return
    empty = ~visible.any(axis=-1)
    visible[empty, generator.integers(0, visible.shape[-1])] = True
