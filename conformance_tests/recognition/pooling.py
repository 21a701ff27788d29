"""Which positions of a stream the end of a model reads: the whole of it, one of them, or their mean."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from veriformer.adapters.capture.trace import Kind
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
    """Which positions of a stream a value is made of, in words, and the stream's value.

    `kept` is the value of the table that says which positions count, None where all do or none says so.
    """

    words: str
    stream: int
    kept: int | None = None


@dataclass(frozen=True)
class PooledEnd:
    """A result with one vector for each sample, which no map gives: `vectors` are those before their lengths go."""

    output: int
    vectors: int
    pooled: Pooled

    @property
    def words(self) -> str:
        """What it is, in words."""
        return self.pooled.words + (", divided by its length" if self.vectors != self.output else "")


def pooled_ends(model: ModelReading) -> Iterator[PooledEnd]:
    """Yield the results that are vectors of whole samples, as a sentence's embedding is."""
    for output in dict.fromkeys(model.trace.outputs):
        shape = model.flow.shape(output)
        if len(shape) != len("BE") or shape[0] != model.batch or output in model.maps.by_output:
            continue
        vectors = _before_its_length(model, output)
        pooled = _pooled(model, vectors)
        if pooled is not None:
            yield PooledEnd(output, vectors, pooled)


def _before_its_length(model: ModelReading, output: int) -> int:
    """Return the value of which a result is the direction; the result itself where its vectors have other lengths."""
    directions = model.flow.array(output)
    lengths, unit = np.linalg.norm(directions, axis=-1), model.flow.unit(output)
    if directions.dtype.kind != "f" or not agree(lengths, np.ones_like(lengths), unit):
        return output
    distances = model.flow.ancestors(output, stop=lambda one: one in model.maps.by_output)
    for one in sorted(distances, key=lambda one: distances[one]):
        array = model.flow.array(one)
        if array.shape == directions.shape and array.dtype.kind == "f" and one != output:
            its = np.linalg.norm(array, axis=-1, keepdims=True)
            if its.all() and not np.array_equal(array, directions) and agree(array / its, directions, unit):
                return one
    return output


def pooled_of(model: ModelReading, value: int) -> Pooled | None:
    """Return which positions a value is made of; None where it is that of each position, or nobody knows."""
    norm = _norm_over(model, value)
    before = value if norm is None else norm.of.value
    for inner, words in ((before, " before the norm" if norm is not None else ""), (value, "")):
        found = _pooled(model, inner) if inner >= 0 else None
        if found is not None:
            return Pooled(f"of {found.words}{words}", found.stream)
    return _side_by_side(model, value)


def _side_by_side(model: ModelReading, value: int) -> Pooled | None:
    """Return of which positions the vectors are that were put side by side; None where one of them is of no such."""
    step = model.flow.making(value)
    if step is None or step.kind != Kind.REARRANGEMENT or len(step.operands) < len("AB"):
        return None
    sizes = [model.flow.shape(one)[-1:] for one in step.operands]
    if sum(size[0] for size in sizes if size) != model.flow.shape(value)[-1]:
        return None
    found = [_pooled(model, one) for one in step.operands]
    known = [one for one in found if one is not None]
    if len(known) < len(found):
        return None
    return Pooled(f"of {' beside '.join(one.words for one in known)}", known[-1].stream)


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
        wide = array.shape[-1:] == (width,) and _has_samples(array, model.batch)
        length = array.size // rows.size
        # A slice of the stream, whose mean is taken, says less than the stream.
        # What was hidden in it before its mean was taken is not the stream yet.
        is_masked = found is not None and found.kept is not None and length == longest
        if wide and array.dtype.kind == "f" and (longest < length <= _MOST_POSITIONS or is_masked):
            stream = array.reshape(model.batch, -1, width)
            words, kept = next(_ways(stream, rows), ""), None
            if not words:
                kept = _kept_in_mean(model, stream, rows, distances)
                words = "" if kept is None else _words_of(model.flow.array(kept).reshape(stream.shape[:2]))
            longest, found = (length, Pooled(words, one, kept)) if words else (longest, found)
    return found


def _has_samples(array: Array, batch: int) -> bool:
    """Return whether an array has an axis of samples before that of positions, or is of one sample without it."""
    return array.shape[0] == batch if array.ndim > len("LE") else array.ndim == len("LE") and batch == 1


def _words_of(kept: Array) -> str:
    """Return what is read where a table (B, L) says which positions count."""
    if (kept.astype(bool).sum(axis=1) == 1).all():
        return "one position of each sample"
    return "the mean over the positions that are kept"


def _kept_in_mean(model: ModelReading, stream: Array, rows: Array, values: Iterable[int]) -> int | None:
    """Return the table of zeros and ones that says over which positions a mean is taken; None where there is none."""
    for one in values:
        table = model.flow.array(one)
        # A table may have axes of size 1 beside samples and positions.
        if table.size != stream.shape[0] * stream.shape[1] or not np.isin(table, (0, 1)).all():
            continue
        weights = table.reshape(stream.shape[:2]).astype(float)
        if weights.any(axis=1).all() and agree(
            rows, np.einsum("bl,ble->be", weights, stream) / weights.sum(1)[:, None]
        ):
            return one
    return None


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
