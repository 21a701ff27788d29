"""How the rows of a sequence become one vector, read off the values: one row, a mean, a sum, a maximum."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.ports.items import Choice, Item
from veriformer.conformance_tests.recognition.agreement import agree
from veriformer.conformance_tests.recognition.flow import Flow

_SEQUENCE_AXES = 3


@dataclass(frozen=True)
class Pooling:
    """What is done with the rows, and the words for it; `place` is the step that gives the vectors."""

    value: Hashable
    words: str
    place: int


def pooling_items(flow: Flow, value: int, path: str) -> Iterator[Item]:
    """Yield how rows were pooled on the way to a value; nothing where none were, or in a way that is not known."""
    found = pooling_of(flow, value)
    if found is not None:
        yield Choice("pooling", "unembedding", found.place, path, found.value, found.words)


def pooling_of(flow: Flow, value: int) -> Pooling | None:
    """Return how the last sequence (B, L, D) became the vectors (B, D) that a value was made from.

    The vectors may have been divided, or have gone through a norm or a map since; each value behind is tried, the last
    one first.
    """
    near = sorted(flow.ancestors(value).items(), key=lambda item: item[1])
    for one, steps in near:
        step = flow.making(one)
        rows = None if step is None or not flow.depends_on_input(one) else _sequence(flow, step.operands, one)
        if rows is None:
            continue
        behind = flow.descendants(one)
        for other, after in near:
            vectors = flow.array(other)
            if after > steps or other not in behind or vectors.size != rows.shape[0] * rows.shape[2]:
                continue
            words = _told(flow, rows, vectors.reshape(rows.shape[0], rows.shape[2]), flow.unit_between(one, other))
            if words is not None:
                return Pooling(words, f"what is read is {words}", flow.maker(one) or 0)
        return None
    return None


def _sequence(flow: Flow, operands: Sequence[int], made: int) -> Array | None:
    """Return the sequence (B, L, D) among some operands of which a step made vectors."""
    for operand in operands:
        rows, size = flow.array(operand), flow.array(made).size
        is_sequence = rows.ndim == _SEQUENCE_AXES and rows.dtype.kind == "f" and rows.shape[1] > 1
        if is_sequence and size == rows.shape[0] * rows.shape[2] and flow.depends_on_input(operand):
            return rows
    return None


def _told(flow: Flow, rows: Array, vectors: Array, unit: float) -> str | None:
    length = rows.shape[1]
    ways = {
        "the mean of all rows": rows.mean(axis=1),
        "the mean of all rows but the first": rows[:, 1:].mean(axis=1),
        "the sum of all rows": rows.sum(axis=1),
        "the maximum of all rows": rows.max(axis=1),
        "the maximum of all rows but the first": rows[:, 1:].max(axis=1),
    }
    for row in range(length):
        if np.array_equal(rows[:, row], vectors):
            return {0: "the first row", length - 1: "the last row"}.get(row, f"row {row}")
    found = next((words for words, way in ways.items() if agree(vectors, way, unit)), None)
    return found or _by_sample(rows, vectors) or _of_real_rows(flow, rows, vectors, unit)


def _by_sample(rows: Array, vectors: Array) -> str | None:
    """Return which row of each sample the vectors are, as those of the last tokens before padding."""
    same = (rows == vectors[:, None]).all(axis=-1)
    if not same.any(axis=1).all():
        return None
    return f"row {', '.join(str(int(one.argmax())) for one in same)} of the samples"


def _of_real_rows(flow: Flow, rows: Array, vectors: Array, unit: float) -> str | None:
    """Return that the vectors are the mean, sum or maximum of the rows that a mask among the inputs leaves."""
    for given in flow.trace.inputs:
        mask = flow.array(given)
        if mask.shape != rows.shape[:2] or not np.isin(mask, (0, 1)).all() or mask.all() or not mask.any(axis=1).all():
            continue
        kept = mask.astype(bool)[..., None]
        total = np.where(kept, rows, 0.0).sum(axis=1)
        ways = {
            "the mean of the rows that are no padding": total / kept.sum(axis=1),
            "the sum of the rows that are no padding": total,
            "the maximum of the rows that are no padding": np.where(kept, rows, -np.inf).max(axis=1),
        }
        found = next((words for words, way in ways.items() if agree(vectors, way, unit)), None)
        if found is not None:
            return found
    return None
