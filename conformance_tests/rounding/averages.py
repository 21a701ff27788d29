"""How far an average of values may be from where it should be, when its weights are wrong.

Everything here takes an array (..., L, S, Dv): the distance of each value from each output. It is made for some heads,
or for some queries of one, at a time, since arrays that the processor's cache holds take a fraction of the time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array

_NUMBERS = 2**15


@dataclass(frozen=True)
class WrongAverages:
    """The effect of wrong weights on averages o = Σ p v, entry by entry, each (..., L, Dv).

    `moved` is min(Σ r |v − o|, max |v − o|), `largest` the largest average of |v| + δv that the weights allow, and
    `carried` that of δv, the error of the values themselves. With weights rounded before their sum is taken, by δ each,
    `largest` is no less than min(Σ w x, max x) / (1 − δ) of x = |v − o| + δv + m, m the `moved`.
    """

    moved: Array
    largest: Array
    carried: Array


@dataclass(frozen=True)
class Weights:
    """Weights (..., L, S): the part `rise` of each that moves averages, the most `reached`, and which are `visible`."""

    rise: Array
    reached: Array
    visible: Array


def wrong_averages(
    weights: Weights, value: Array, output: Array, value_error: Array | None, rounded_by: float | None
) -> WrongAverages:
    """Return the effect of wrong weights on averages of values (..., S, Dv), which should be the output (..., L, Dv).
    `rounded_by` is δ if weights are rounded before their sum is taken, else None.
    """
    lead, queries, width = output.shape[:-2], *output.shape[-2:]
    parts = 2 if value_error is None else 3
    rise, reached, visible = (_flat(array) for array in (weights.rise, weights.reached, weights.visible))
    values, outputs = _keys_last(value), _keys_last(output)
    errors = None if value_error is None else _keys_last(value_error)
    found = np.zeros((3, len(outputs), width, queries))
    for heads, rows in _blocks(len(outputs), queries, width * value.shape[-2]):
        part = Weights(rise[heads, None, rows], reached[heads, None, rows], visible[heads, None, rows])
        error = None if errors is None else errors[heads, :, None]
        of_block = _of_a_block(part, values[heads, :, None], outputs[heads, :, rows, None], error, rounded_by)
        found[:parts, heads, :, rows] = of_block
    return WrongAverages(*found.swapaxes(-1, -2).reshape(3, *lead, queries, width))


def _of_a_block(
    weights: Weights, value: Array, output: Array, error: Array | None, rounded_by: float | None
) -> tuple[Array, ...]:
    spread = np.abs(value - output)
    moved = _largest_average(weights.rise, spread, weights.visible)
    size = np.abs(value) if error is None else np.abs(value) + error
    largest = _largest_average(weights.reached, size, weights.visible)
    if rounded_by is not None:
        # Exponentials rounded before they are summed: Σ p δ (v − o) / Σ p (1 + δ) instead of Σ p δ v.
        spread += moved[..., None] if error is None else moved[..., None] + error
        largest = np.maximum(largest, _largest_average(weights.reached, spread, weights.visible) / (1.0 - rounded_by))
    if error is None:
        return moved, largest
    return moved, largest, _largest_average(weights.reached, error, weights.visible)


def _largest_average(weights: Array, amounts: Array, visible: Array) -> Array:
    """Return min(Σ w a, max a) over the visible keys of nonnegative amounts a, keys last."""
    total = np.einsum("...s,...s->...", weights, amounts)
    return np.asarray(np.minimum(total, np.max(amounts * visible, axis=-1, initial=0.0)))


def _keys_last(array: Array) -> Array:
    """Return values (..., S, Dv) as (heads, Dv, S): summed and compared entries are adjacent in memory."""
    return np.ascontiguousarray(_flat(array).swapaxes(-1, -2))


def _flat(array: Array) -> Array:
    return array.reshape(-1, *array.shape[-2:])


def _blocks(heads: int, queries: int, numbers: int) -> Iterator[tuple[slice, slice]]:
    """Yield heads and queries in parts of about `_NUMBERS` numbers each, `numbers` of them for each query."""
    rows = min(queries, max(1, _NUMBERS // max(numbers, 1)))
    together = max(1, _NUMBERS // max(queries * numbers, 1))
    for first in range(0, heads, together):
        for row in range(0, queries, max(rows, 1)):
            yield slice(first, first + together), slice(row, row + rows)
