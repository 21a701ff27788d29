"""Where weights lie in a model's parameters, found by their numbers: fused, transposed, cut into heads."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from veriformer.adapters.whole_models.bound_part import WeightPlace
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.recognition.flow import Flow


def place_of_matrix(flow: Flow, matrix: Array, names: Sequence[str]) -> WeightPlace | None:
    """Return where a matrix (in, out) of at least two rows lies in parameters; None where it is not made of them so.

    Its rows are equally far apart there, in all columns alike.
    """
    numbers = _numbers(flow, names)
    if len(matrix) < 2 or not numbers.size:
        return None
    candidates = _positions(numbers, matrix[0])
    steps = dict.fromkeys(
        int(second - first) for first in candidates[0] for second in np.flatnonzero(numbers == matrix[1, 0])
    )
    for step in steps:
        columns = [_column(numbers, matrix[:, j], step, candidates[j]) for j in range(matrix.shape[1])]
        if all(column is not None for column in columns):
            return WeightPlace(tuple(names), len(matrix), step, tuple(int(column or 0) for column in columns))
    return None


def place_of_vector(flow: Flow, vector: Array, names: Sequence[str]) -> WeightPlace | None:
    """Return where a vector lies in parameters; None where it is not made of them by moving numbers only."""
    numbers = _numbers(flow, names)
    if not numbers.size:
        return None
    columns: list[int] = []
    for found in _positions(numbers, vector):
        if not len(found):
            return None
        # Equal numbers are told apart by their neighbours.
        follows = columns[-1] + 1 if columns else 0
        columns.append(follows if follows in found else int(found[0]))
    if len(set(columns)) < len(columns):
        return None
    return WeightPlace(tuple(names), 1, 0, tuple(columns))


def _numbers(flow: Flow, names: Sequence[str]) -> Array:
    arrays = [flow.array(flow.trace.parameters[name]).ravel() for name in names]
    return np.concatenate(arrays) if arrays else np.empty(0)


def _positions(numbers: Array, wanted: Array) -> list[Array]:
    """Return for each wanted number where it is among the numbers."""
    few = np.flatnonzero(np.isin(numbers, wanted))
    order = few[np.argsort(numbers[few], kind="stable")]
    ordered = numbers[order]
    starts, ends = np.searchsorted(ordered, wanted, "left"), np.searchsorted(ordered, wanted, "right")
    return [np.sort(order[start:end]) for start, end in zip(starts, ends, strict=True)]


def _column(numbers: Array, column: Array, step: int, candidates: Array) -> int | None:
    """Return where a column begins; None where it is not there in these steps."""
    for start in candidates:
        last = int(start) + step * (len(column) - 1)
        if 0 <= last < numbers.size:
            end = last + (1 if step > 0 else -1)
            there = numbers[int(start) : end if end >= 0 else None : step] if step else numbers[start : start + 1]
            if np.array_equal(there, column):
                return int(start)
    return None
