"""Which positions of a stream the end of a model reads: the whole of it, one of them, or their mean."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.recognition.agreement import agree
from veriformer.conformance_tests.recognition.expressions import Norm
from veriformer.conformance_tests.recognition.maps import LinearMap
from veriformer.conformance_tests.recognition.model_reading import ModelReading
from veriformer.conformance_tests.recognition.tracking import carried

_MOST_POSITIONS = 256
# Fewer positions are in no equal steps.
_LEAST_READ = 3


@dataclass(frozen=True)
class Pooled:
    """Which positions of a stream a value is made of, in words, and the stream's value."""

    words: str
    stream: int


def pooled_of(model: ModelReading, value: int) -> Pooled | None:
    """Return which positions a value is made of; None where it is that of each position, or nobody knows."""
    norm = _norm_over(model, value)
    before = value if norm is None else norm.of.value
    for inner, words in ((before, " before the norm" if norm is not None else ""), (value, "")):
        found = _pooled(model, inner) if inner >= 0 else None
        if found is not None:
            return Pooled(f"of {found.words}{words}", found.stream)
    return None


def positions_read(model: ModelReading, one: LinearMap) -> str:
    """Return which positions of the stream a map reads, where these are some in equal steps; "" for all and others."""
    read = model.at_root(model.reader.read(one.input))
    shape = model.flow.shape(read.value) if read.value >= 0 else ()
    if len(shape) < len("BLE") or model.flow.array(one.input).size >= model.flow.array(read.value).size:
        return ""
    found = carried(model.flow, read.value, one.input)
    if found is None or (found < 0).any() or found.size % shape[-1]:
        return ""
    rows = np.unique(found.reshape(-1, shape[-1])[:, 0] // shape[-1] % shape[-2])
    steps = np.diff(rows)
    if len(rows) < _LEAST_READ or (steps != steps[0]).any() or len(rows) == shape[-2]:
        return ""
    return f"of every {_ordinal(int(steps[0]))} position from {rows[0]}" if steps[0] > 1 else ""


def _ordinal(number: int) -> str:
    return {2: "second", 3: "third"}.get(number, f"{number}th")


def _norm_over(model: ModelReading, value: int) -> Norm | None:
    read = model.reader.read(value)
    return read if isinstance(read, Norm) else None


def _pooled(model: ModelReading, value: int) -> Pooled | None:
    vectors = model.flow.array(value)
    if vectors.dtype.kind != "f" or not vectors.size or vectors.size % (model.batch * vectors.shape[-1]):
        return None
    width = vectors.shape[-1]
    rows = vectors.reshape(-1, width)
    if len(rows) != model.batch:
        return None
    distances = model.flow.ancestors(value, stop=lambda one: one in model.maps.by_output and one != value)
    longest, found = 1, None
    for one in sorted(distances, key=lambda one: distances[one]):
        array = model.flow.array(one)
        wide = array.ndim > 2 and array.shape[-1] == width and array.shape[0] == model.batch
        length = array.size // rows.size
        # A slice of the stream, whose mean is taken, says less than the stream.
        if wide and array.dtype.kind == "f" and longest < length <= _MOST_POSITIONS:
            words = next(_ways(array.reshape(model.batch, -1, width), rows), "")
            longest, found = (length, Pooled(words, one)) if words else (longest, found)
    return found


def _ways(stream: Array, rows: Array) -> Iterator[str]:
    """Yield how rows (B, E) are made of a stream (B, L, E)."""
    length = stream.shape[1]
    for position in range(length):
        if np.array_equal(stream[:, position], rows):
            yield "the last position" if position == length - 1 else f"position {position}"
    if np.array_equal(stream.max(axis=1), rows):
        yield "the largest over all positions"
    sums = np.concatenate([np.zeros_like(stream[:, :1]), np.cumsum(stream, axis=1)], axis=1)
    for first in range(length):
        for last in range(length, first + 1, -1):
            if agree(rows, (sums[:, last] - sums[:, first]) / (last - first)):
                yield "the mean over all positions" if last - first == length else _over(first, last - 1, length)


def _over(first: int, last: int, length: int) -> str:
    if last == length - 1:
        return f"the mean over the positions from {first}"
    return f"the mean over the positions {first} to {last}"
