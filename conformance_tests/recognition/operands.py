"""What a model does to queries and keys between their projection and their product: norms, rotations, factors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.recognition.agreement import agree
from veriformer.conformance_tests.recognition.elementwise import factor_of
from veriformer.conformance_tests.recognition.flow import Flow
from veriformer.conformance_tests.recognition.heads import Grouped, Split, grouped, splits_of
from veriformer.conformance_tests.recognition.maps import LinearMap
from veriformer.conformance_tests.recognition.norms import FoundNorm, norm_of
from veriformer.conformance_tests.recognition.turning import Turned, turned


@dataclass(frozen=True, eq=False)
class Operand:
    """One operand of an attention, as far as it could be read.

    `heads` are the numbers that enter the product, without repetitions and without `factor`. `split` says how they
    were cut out of the projection, None where no rearrangement of it was found. `rotation` and `norm` are None where
    there is none; `order` names both as they were applied, and gain and shift of the norm are values of the pass.
    Not `understood` means that the way from the projection to the product is none of these; `middle` are then the
    heads up to where it was read.
    """

    heads: Array
    groups: Grouped
    split: Split | None
    rotation: Turned | None = None
    norm: FoundNorm | None = None
    order: tuple[str, ...] = ()
    factor: float = 1.0
    understood: bool = True
    middle: Array | None = None

    @property
    def before(self) -> Array | None:
        """The heads as they were cut out of the projection."""
        return None if self.split is None else self.split.array


def read_operand(flow: Flow, one: LinearMap, heads: Array, end: int) -> Operand:
    """Return what a model does between a projection and the operand (B, H, S, D) that `end` holds."""
    groups = grouped(heads)
    first: Operand | None = None
    paired_anew: Operand | None = None
    moved_before: Operand | None = None
    orders: list[Array | None] = []
    earlier: list[Split] = []
    for split in splits_of(flow, one, heads, end):
        if any(_same_order(split.columns, order) for order in orders):
            earlier.append(split)
            continue
        orders.append(split.columns)
        found = _read_from(flow, split, groups, end)
        if found.understood and _keeps_pairs(found):
            # Components that only stood otherwise while they were turned are paired as before.
            if split.layout != "other":
                return found
            moved_before = moved_before or found
        elif found.understood:
            paired_anew = paired_anew or found
        first = first or found
    if paired_anew is None and moved_before is None:
        # The squares of a norm are made of the projection itself, and what they divide may be it once more: x − 0.
        farthest = {flow.shape(split.value): split for split in earlier}
        again = (_read_from(flow, split, groups, end) for split in farthest.values())
        first = next((found for found in again if _is_read_further(found, first)), first)
    # Where components were moved before they were turned, they are paired as the projection has them.
    return paired_anew or moved_before or first or Operand(groups.array, groups, None, understood=False)


def _is_read_further(found: Operand, other: Operand | None) -> bool:
    """Return whether an operand that was not understood from one value is understood from another, or half of it."""
    if found.understood:
        return _keeps_pairs(found)
    return found.middle is not None and other is not None and other.middle is None


def _keeps_pairs(found: Operand) -> bool:
    """Return whether the components of each pair that is turned stand afterwards where they stood before."""
    return found.rotation is None or found.rotation.after is None


def _same_order(columns: Array | None, others: Array | None) -> bool:
    return columns is None if others is None else columns is not None and np.array_equal(columns, others)


def _read_from(flow: Flow, split: Split, groups: Grouped, end: int) -> Operand:
    """Return what a model does to heads that were cut out of a projection in one way."""
    if split.array.shape[1] > groups.array.shape[1]:
        # The projection's heads were repeated before they were turned.
        split = _without_repetitions(split)
    if split.array.shape != groups.array.shape:
        return Operand(groups.array, groups, split, understood=False)
    for way in _ways(flow, split, groups.array, end):
        return Operand(groups.array / way.factor, groups, split, way.rotation, way.norm, way.order, way.factor)
    return Operand(groups.array, groups, split, understood=False, middle=_read_to(flow, split, end))


def _read_to(flow: Flow, split: Split, end: int) -> Array | None:
    """Return the last value on the way to a product that is a norm of the projection's heads."""
    for value, middle in _between(flow, split, end):
        unit = flow.unit_between(split.value, value)
        if any(True for _ in _norms(flow, split.array, middle, split.value, value, unit)):
            return middle
    return None


def _without_repetitions(split: Split) -> Split:
    kept = [
        int(np.flatnonzero([np.array_equal(split.array[:, i], split.array[:, j]) for j in range(i + 1)])[0])
        for i in range(split.array.shape[1])
    ]
    first = sorted(set(kept))
    columns = None if split.columns is None else split.columns[first]
    return replace(split, array=split.array[:, first], columns=columns, order=split.order[:, first])


@dataclass(frozen=True, eq=False)
class _Way:
    rotation: Turned | None = None
    norm: FoundNorm | None = None
    order: tuple[str, ...] = ()
    factor: float = 1.0


def _ways(flow: Flow, split: Split, heads: Array, end: int) -> Iterator[_Way]:
    """Yield the ways from the projection's heads to those in the product, the simplest first."""
    start = split.array
    yield from _one_step(flow, start, heads, split.value, end)
    for value, middle in _between(flow, split, end):
        for first in _one_step(flow, start, middle, split.value, value):
            for second in _one_step(flow, middle, heads, value, end):
                yield _Way(
                    first.rotation or second.rotation,
                    first.norm or second.norm,
                    (*first.order, *second.order),
                    first.factor * second.factor,
                )


def _between(flow: Flow, split: Split, end: int) -> Iterator[tuple[int, Array]]:
    """Yield the values on the way to the product that hold the projection's heads, the latest first, as heads."""
    shape = flow.shape(split.value)
    behind, ahead = flow.ancestors(end), flow.descendants(split.value)
    for value in sorted((one for one in behind if one in ahead and one != split.value), key=lambda one: behind[one]):
        array = flow.array(value)
        if array.dtype.kind == "f" and array.shape == shape:
            yield value, split.arranged(array)
        elif array.dtype.kind == "f" and array.shape == split.array.shape:
            # The axes were exchanged after the heads had been cut out.
            yield value, array


def _one_step(flow: Flow, before: Array, after: Array, start: int, end: int) -> Iterator[_Way]:
    unit = flow.unit_between(start, end)
    if agree(after, before, unit):
        yield _Way()
        return
    factor = factor_of(before, after, unit)
    if factor is not None:
        yield _Way(factor=factor)
        return
    rotation = turned(before, after)
    if rotation is not None:
        yield _Way(rotation=rotation, order=("rotary",), factor=rotation.factor)
        return
    for norm in _norms(flow, before, after, start, end, unit):
        yield _Way(norm=norm, order=(norm.kind,))


def _norms(flow: Flow, before: Array, after: Array, start: int, end: int, unit: float) -> Iterator[FoundNorm]:
    """Yield the norm over each head, or over all heads of a position."""
    batch, heads, length, width = before.shape
    for size, own in ((width, False), (heads * width, False), (heads * width, True)):
        vectors = _vectors(flow, start, end, size)
        if len(vectors) > 3 or (own and not vectors):
            continue
        # A norm of each head with gains of its own is one of rows of the width of a head, like one with shared gains.
        rows = [
            array.swapaxes(1, 2).reshape(batch * length, size) if size != width else array.reshape(-1, width)
            for array in (before, after)
        ]
        arrays = list(vectors.values())
        found = _norm_of_heads(rows, arrays, width, unit) if own else norm_of(rows[0], rows[1], arrays, unit)
        if found is not None:
            values = list(vectors)
            gain, shift = (None if place is None else values[place] for place in (found.gain, found.shift))
            yield replace(found, gain=gain, shift=shift)
            return


def _norm_of_heads(rows: Sequence[Array], vectors: Sequence[Array], width: int, unit: float) -> FoundNorm | None:
    """Return the norm over each head where gain and shift differ between the heads."""
    for gain, shift in permutations((*range(len(vectors)), None), 2):
        added = 0.0 if shift is None else vectors[shift]
        with np.errstate(all="ignore"):
            bare = (rows[1] - added) / (1.0 if gain is None else vectors[gain])
        found = norm_of(rows[0].reshape(-1, width), bare.reshape(-1, width), (), unit)
        if found is not None:
            return replace(found, gain=gain, shift=shift)
    return None


def _vectors(flow: Flow, start: int, end: int, size: int) -> dict[int, Array]:
    """Return the fixed vectors of a size that steps between two values take, by value."""
    found: dict[int, Array] = {}
    for index in flow.between(start, end):
        for one in flow.steps[index].operands:
            array = flow.array(one)
            if array.dtype.kind == "f" and array.size == size and flow.is_fixed(one):
                found.setdefault(one, array.ravel())
    return found
