"""What is compared of a part that reads images: its patches, the rows that are joined to them, their order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.ports.items import Choice, Cut, Item, Weight
from veriformer.conformance_tests.ports.patches import AXES, Patches, patches_of
from veriformer.conformance_tests.recognition.agreement import DOUBLE, agree
from veriformer.conformance_tests.recognition.embeddings import Embedding
from veriformer.conformance_tests.recognition.flow import Flow
from veriformer.conformance_tests.recognition.maps import LinearMap

_SEQUENCE_AXES = 3


@dataclass(frozen=True, eq=False)
class _Sequence:
    """The rows of the stream: which patch each one is, −1 for a row that is the same for all images.

    `joined` are those rows, `names` the parameters that they are made of.
    """

    place: int
    rows: tuple[int, ...]
    joined: Array
    names: tuple[str, ...]


def image_items(flow: Flow, embedding: Embedding, one: LinearMap, path: str) -> Iterator[Item]:
    """Yield what is compared of a projection of patches; nothing where a map reads no patches."""
    found = patches_of(flow, one)
    if found is None:
        return
    size = "{} × {}".format(*found.size)
    yield Choice("patch size", "embedding", one.step, path, found.size, f"patches have {size} pixels")
    yield Weight(
        "patch projection", "embedding", one.step, path, found.matrix, one.names, stored=found.stored, axes=AXES
    )
    bias = None if one.bias is None else flow.array(one.bias).ravel()
    names = () if one.bias is None else flow.parameters_of(one.bias)
    yield Weight("patch bias", "embedding", one.step, path, bias, names, 0.0)
    vectors = found.vectors if bias is None else found.vectors + bias
    yield Cut("patch vectors", "embedding", one.step, path, vectors, flow.unit(one.output))
    rows = _sequence_of(flow, embedding, one, vectors)
    if rows is not None:
        yield from _of_rows(rows, found, path)


def _of_rows(rows: _Sequence, found: Patches, path: str) -> Iterator[Item]:
    order = tuple(row for row in rows.rows if row >= 0)
    yield Choice("patch order", "embedding", rows.place, path, order, _order_in_words(order, found))
    at = tuple(number for number, row in enumerate(rows.rows) if row < 0)
    own = rows.names[0] if len(rows.names) == 1 else path
    yield Choice("class token", "embedding", rows.place, own, _standing(at, len(rows.rows)), _joined_in_words(at, rows))
    if at:
        yield Weight("class token row", "embedding", rows.place, path, rows.joined, rows.names)


def _standing(at: tuple[int, ...], count: int) -> tuple[int, ...]:
    """Return where rows stand, counted from the end where they stand behind the patches."""
    behind = bool(at) and at[-1] == count - 1 and at[0] > 0
    return tuple(row - count for row in at) if behind else at


def _joined_in_words(at: tuple[int, ...], rows: _Sequence) -> str:
    if not at:
        return "no learned row is joined to the patches"
    many = f"{len(at)} learned rows stand" if len(at) > 1 else "a learned row stands"
    if at == tuple(range(len(at))):
        return f"{many} before the patches"
    return f"{many} behind the patches" if at[0] == len(rows.rows) - len(at) else f"{many} among the patches"


def _order_in_words(order: tuple[int, ...], found: Patches) -> str:
    whole = len(order) == found.grid[0] * found.grid[1]
    grid = np.arange(len(order)).reshape(found.grid if whole else (1, -1))
    ways = ((grid, "row by row"), (grid.T, "column by column"), (grid.ravel()[::-1], "from the last to the first"))
    words = next((words for way, words in ways if tuple(way.ravel()) == order), "in another order")
    return f"{len(order)} patches run {words}"


def _sequence_of(flow: Flow, embedding: Embedding, one: LinearMap, vectors: Array) -> _Sequence | None:
    """Return the rows of the last value before the stream in which the patches' vectors stand as they are."""
    ends = [value for value in (embedding.value, *(term.value for term in embedding.terms)) if value >= 0]
    behind = {value for end in ends for value in flow.ancestors(end)} | set(ends)
    near = sorted(flow.descendants(one.output).items(), key=lambda item: -item[1])
    for value, _ in near:
        array = flow.array(value)
        fits = array.ndim == _SEQUENCE_AXES and len(array) == len(vectors) and array.shape[-1] == vectors.shape[-1]
        if fits and value in behind and (found := _rows_in(flow, value, vectors)) is not None:
            return found
    return None


def _rows_in(flow: Flow, value: int, vectors: Array) -> _Sequence | None:
    array = flow.array(value)
    rows = [_patch_at(array[:, row], vectors, flow.unit(value)) for row in range(array.shape[1])]
    joined = [number for number, row in enumerate(rows) if row < 0]
    patches = [row for row in rows if row >= 0]
    if (
        not patches
        or len(set(patches)) < len(patches)
        or any((array[:, row] != array[:1, row]).any() for row in joined)
    ):
        return None
    step = flow.making(value)
    fixed = [] if step is None else [one for one in step.operands if flow.is_fixed(one)]
    names = tuple(dict.fromkeys(name for one in fixed for name in flow.parameters_of(one))) if joined else ()
    return _Sequence(flow.maker(value) or 0, tuple(rows), array[0, joined], names)


def _patch_at(row: Array, vectors: Array, unit: float) -> int:
    """Return the patch whose vectors one row of all samples holds; −1 where it is none."""
    nearest = int(np.abs(vectors - row[:, None]).sum(axis=(0, 2)).argmin())
    return nearest if agree(row, vectors[:, nearest], max(unit, DOUBLE)) else -1
