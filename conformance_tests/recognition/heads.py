"""How heads lie in the columns of a projection, read off the numbers: splitting, merging, fused projections, groups."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.recognition.flow import Flow
from veriformer.conformance_tests.recognition.maps import LinearMap, factors
from veriformer.conformance_tests.recognition.tracking import places

# A sequence needs more positions to show that they were moved.
_NEIGHBOURS = 3


@dataclass(frozen=True, eq=False)
class Split:
    """Heads cut out of a projection.

    `columns` (H, D) are the columns of the projection that each head holds; None where a head mixes rows, so that its
    numbers come from several samples or positions. `array` (B, H, L, D) are the heads themselves, `value` their place
    in the trace, and `order` where each of their numbers is in that. `moved` says by how many positions: with 1, each
    position has what was projected of the one before.
    """

    array: Array
    columns: Array | None
    value: int
    order: Array
    moved: int = 0

    def arranged(self, array: Array) -> Array:
        """Return another array of the shape of `value`, as (B, H, L, D)."""
        return np.asarray(array.ravel()[self.order])

    @property
    def layout(self) -> str:
        """The order of the columns in words."""
        if self.columns is None:
            return "mixed"
        heads, width = self.columns.shape
        head, component = np.indices(self.columns.shape)
        relative = self.columns - self.columns.min()
        if np.array_equal(relative, head * width + component):
            return "blocks"
        if heads > 1 and np.array_equal(relative, component * heads + head):
            return "component_major"
        starts, within = self.columns[:, 0], self.columns - self.columns[:, :1]
        strides = np.unique(np.diff(starts))
        if np.array_equal(within, np.broadcast_to(np.arange(width), within.shape)) and len(strides) == 1:
            return "blocks_with_gaps" if strides[0] > 0 else "blocks_reversed"
        return "other"

    @property
    def offset(self) -> int:
        """The first column."""
        return -1 if self.columns is None else int(self.columns.min())


def columns_of(flow: Flow, one: LinearMap, batch: int, length: int) -> Array | None:
    """Return a projection as (B·L, columns), with the columns of the weight; None where the rows cannot be told."""
    array = flow.array(one.output)
    rows = batch * length
    if array.size % rows:
        return None
    step = flow.steps[one.step]
    if one.output == one.product and "contracted" in step.attributes and factors(step)[0] == one.weight:
        own = array.ndim - flow.array(one.input).ndim + len(step.attributes["contracted"][1])
        array = np.moveaxis(array, range(own), range(-own, 0)) if 0 < own < array.ndim else array
    return array.reshape(rows, -1)


def splits_of(flow: Flow, one: LinearMap, heads: Array, end: int) -> Iterator[Split]:
    """Yield how the heads that an attention uses, or what they are turned from, were cut out of a projection.

    `heads` (B, H, L, D) are what `end` holds. Every rearrangement of the projection on the way is one, the last first.
    """
    batch, count, length, width = heads.shape
    counts = {count, grouped(heads).count}
    source = columns_of(flow, one, batch, length)
    vectors = _vectors(flow, one)
    if source is None or batch * length > vectors:
        # Pieces of a vector would be positions.
        return
    on_the_way = flow.ancestors(end)
    ahead = flow.descendants(one.output)
    near = sorted((distance, value) for value, distance in on_the_way.items() if value in ahead)
    for _, value in near:
        array = flow.array(value)
        if array.dtype.kind != "f" or array.size % (batch * length * width):
            continue
        found = _split(source, array, (batch, length, width), value)
        # Rows of several vectors, such as those of streams side by side, are positions of more than one kind.
        if found is None or (found.columns is None and batch * length != vectors):
            continue
        if found.array.shape[1] in counts:
            yield found


def _vectors(flow: Flow, one: LinearMap) -> float:
    """Return how many vectors a map gives.

    A map of k vectors of n numbers to vectors of m numbers has k² · n · m numbers in its ends together.
    """
    ends = flow.array(one.input).size * flow.array(one.product).size
    return float(np.sqrt(ends / flow.array(one.weight).size))


def _split(source: Array, array: Array, sizes: tuple[int, int, int], value: int) -> Split | None:
    batch, length, width = sizes
    tables = (source.reshape(batch, length, -1), source.reshape(length, batch, -1).swapaxes(0, 1))
    for order in _arrangements(np.arange(array.size).reshape(array.shape), sizes):
        numbers = array.ravel()[order]
        for table in tables:
            columns = _columns(table, numbers)
            if columns is not None:
                return Split(numbers, columns, value, order)
    moved = _moved(tables[0], array, sizes, value)
    if moved is not None:
        return moved
    if array.size > source.size or (array.ndim < 4 and array.shape[-1] != width):
        # Positions that stand there twice, for streams that share them, are not cut. One axis for heads and width
        # together is a projection that was not split yet.
        return None
    origins, arrangements = places(source, array), _arrangements(np.arange(array.size).reshape(array.shape), sizes)
    first = next(arrangements, None)
    if origins is None or first is None or not _is_mixed(origins.ravel()[first] // source.shape[-1]):
        return None
    return Split(array.ravel()[first], None, value, first)


def _is_mixed(rows: Array) -> bool:
    """Return whether the heads (B, H, L, D) of one position are made of several rows.

    Positions that are rows in another order, such as those of streams that were cut apart, mix nothing.
    """
    return bool((rows != rows[:, :1, :, :1]).any())


def _moved(table: Array, array: Array, sizes: tuple[int, int, int], value: int) -> Split | None:
    """Return heads whose positions have what was projected of their neighbours; the ends of a sequence do not count."""
    length = table.shape[1]
    for order in _arrangements(np.arange(array.size).reshape(array.shape), sizes) if length > _NEIGHBOURS else ():
        numbers = array.ravel()[order]
        for shift in (1, -1):
            kept = slice(1, None) if shift > 0 else slice(None, -1)
            columns = _columns(np.roll(table, shift, axis=1)[:, kept], numbers[:, :, kept])
            if columns is not None:
                return Split(numbers, columns, value, order, shift)
    return None


def _columns(table: Array, heads: Array) -> Array | None:
    """Return the columns of (B, L, columns) that heads (B, H, L, D) hold; None where rows are mixed."""
    first = table[0, 0]
    order = np.argsort(first, kind="stable")
    at = np.minimum(np.searchsorted(first[order], heads[0, :, 0]), first.size - 1)
    columns = order[at]
    if np.array_equal(table[:, :, columns], heads.swapaxes(1, 2)):
        return np.asarray(columns)
    return None


def _arrangements(array: Array, sizes: tuple[int, int, int]) -> Iterator[Array]:
    """Yield the ways to read an array as (B, H, L, D), likeliest first."""
    batch, length, width = sizes
    heads = array.size // (batch * length * width)
    wanted = (batch, heads, length, width)
    shapes = [array.shape]
    if array.ndim == 2 and array.shape == (batch * length, heads * width):
        shapes.append((batch, length, heads, width))
    elif array.ndim == 3:
        shapes.extend(
            shape
            for shape in (
                (batch, heads, *array.shape[1:]),
                (*array.shape[:2], heads, width),
                (*array.shape[:1], batch, heads, *array.shape[2:]),
            )
            if int(np.prod(shape)) == array.size
        )
    elif array.ndim > 4:
        shapes.extend(_merged(array.shape))
    for shape in shapes:
        shaped = array.reshape(shape)
        if shaped.ndim != 4:
            continue
        for order in permutations(range(4)):
            if tuple(shaped.shape[axis] for axis in order) == wanted:
                yield shaped.transpose(order)


def _merged(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yield the shapes with two neighbouring axes joined, or with axes of one left out."""
    yield tuple(size for size in shape if size != 1)
    for axis in range(len(shape) - 1):
        yield (*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :])


@dataclass(frozen=True, eq=False)
class Grouped:
    """Key or value heads without their repetitions: `array` (B, G, S, D), and the group that each head reads."""

    array: Array
    group_of_head: tuple[int, ...]

    @property
    def count(self) -> int:
        """The number of groups G."""
        return int(self.array.shape[1])

    def repeated_in_order(self, heads: int) -> bool:
        """Return whether query head h reads group h // (H / G)."""
        if len(self.group_of_head) != heads:
            return heads % self.count == 0
        return heads % self.count == 0 and self.group_of_head == tuple(
            head // (heads // self.count) for head in range(heads)
        )


def grouped(heads: Array) -> Grouped:
    """Return heads without those that repeat an earlier one."""
    firsts: list[int] = []
    groups: list[int] = []
    for head in range(heads.shape[1]):
        same = [index for index, first in enumerate(firsts) if np.array_equal(heads[:, first], heads[:, head])]
        if not same:
            firsts.append(head)
        groups.append(same[0] if same else len(firsts) - 1)
    return Grouped(heads[:, firsts], tuple(groups))


@dataclass(frozen=True)
class Merge:
    """How the heads' outputs were put side by side.

    `rows_kept` says that no row mixes samples or positions; `by_component` that the first components of all heads stand
    first, then the second ones.
    """

    rows_kept: bool
    in_order: bool
    by_component: bool = False


def merge_of(output: Array, merged: Array) -> Merge | None:
    """Return how (B, H, L, Dv) was put side by side; None where `merged` holds others, or in other vectors."""
    batch, heads, length, width = output.shape
    if merged.size != output.size or batch * length not in np.cumprod(merged.shape):
        # Vectors of another width are not the heads of one position: a part of the heads is an axis of another kind.
        return None
    plain = output.swapaxes(1, 2)
    if any(np.array_equal(array.ravel(), merged.ravel()) for array in (plain, plain.swapaxes(0, 1))):
        # Heads of one group give the same where only one key is seen, so that places may be exchanged.
        return Merge(rows_kept=True, in_order=True)
    moved = places(output, merged)
    if moved is None:
        return None
    sample, head, position, component = np.unravel_index(moved.reshape(-1, heads * width), output.shape)
    rows = sample * length + position
    kept = bool((rows == rows[:, :1]).all()) and len(np.unique(rows[:, 0])) == batch * length
    columns = head * width + component
    first_of_all = np.arange(heads * width).reshape(heads, width).T.ravel()
    in_order, by_component = (kept and bool((columns == one).all()) for one in (np.arange(heads * width), first_of_all))
    return Merge(kept, in_order, by_component)
