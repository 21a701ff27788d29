"""Where each number of a value was in an earlier value, followed by the numbers themselves."""

from __future__ import annotations

from itertools import permutations

import numpy as np
from veriformer.adapters.capture.trace import Kind
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.recognition.flow import Flow

# More axes than this have too many orders to try.
_MOST_AXES = 6


def places(source: Array, moved: Array) -> Array | None:
    """Return for each entry of `moved` its flat place in `source`; None where an entry is not in it.

    Entries that occur more than once in the source keep their order, as they do in a reshape.
    """
    if source.size == moved.size and np.array_equal(source.ravel(), moved.ravel()):
        return np.arange(source.size).reshape(moved.shape)
    exact = _transposed(source, moved) if source.size == moved.size else _cut(source, moved)
    if exact is not None:
        return exact
    order = np.argsort(source, axis=None, kind="stable")
    ordered = source.ravel()[order]
    if source.size == moved.size:
        turned = np.argsort(moved, axis=None, kind="stable")
        if not np.array_equal(ordered, moved.ravel()[turned]):
            return None
        found = np.empty(moved.size, dtype=np.int64)
        found[turned] = order
        return found.reshape(moved.shape)
    at = np.minimum(np.searchsorted(ordered, moved.ravel()), source.size - 1)
    if not np.array_equal(ordered[at], moved.ravel()):
        return None
    return np.asarray(order[at].reshape(moved.shape))


def _transposed(source: Array, moved: Array) -> Array | None:
    """Return the places where the axes were exchanged: equal entries do not blur it, as they blur a search."""
    if source.ndim != moved.ndim or source.ndim > _MOST_AXES:
        return None
    for axes in permutations(range(source.ndim)):
        fits = all(source.shape[axis] == size for axis, size in zip(axes, moved.shape, strict=True))
        if fits and np.array_equal(source.transpose(axes), moved):
            return np.arange(source.size).reshape(source.shape).transpose(axes)
    return None


def _cut(source: Array, moved: Array) -> Array | None:
    """Return the places where a block at the beginning or end of one axis was taken."""
    found = _joined(moved, source)
    if found is None:
        return None
    places_of = np.empty(moved.size, dtype=np.int64)
    kept = found.ravel() >= 0
    places_of[found.ravel()[kept]] = np.flatnonzero(kept)
    return places_of.reshape(moved.shape)


def carried(flow: Flow, start: int, end: int) -> Array | None:
    """Return for each entry of `end` the flat place in `start` of the entry that it was computed from, entry by entry.

    Steps that keep the shape are taken to keep the places too. Entries that were joined on the way, as a sink is to the
    logits, have the place −1. None where the way cannot be followed.
    """
    behind = flow.descendants(start)
    way: list[tuple[int, int]] = []
    value = end
    while value != start:
        step = flow.making(value)
        sources = [one for one in step.operands if one in behind] if step is not None else []
        sources = [one for one in sources if flow.array(one).dtype.kind == "f" and flow.array(one).size > 1]
        if not sources:
            return None
        same = [one for one in sources if flow.array(one).size == flow.array(value).size]
        way.append(((same or sources)[0], value))
        value = way[-1][0]
    found = np.arange(flow.array(start).size).reshape(flow.shape(start))
    for before, after in reversed(way):
        step = flow.making(after)
        first, second = flow.array(before), flow.array(after)
        moved = _moved(first, second) if step is not None and step.kind == Kind.REARRANGEMENT else None
        if moved is not None:
            found = np.where(moved < 0, -1, found.ravel()[moved.ravel()].reshape(moved.shape))
        elif first.size == second.size:
            found = found.reshape(second.shape)
        else:
            return None
    return found


def _moved(source: Array, moved: Array) -> Array | None:
    """Return `places`, with −1 for entries of a larger array that are not in the source."""
    exact = places(source, moved)
    if exact is not None or moved.size <= source.size:
        return exact
    joined = _joined(source, moved)
    if joined is not None:
        return joined
    order = np.argsort(source, axis=None, kind="stable")
    at = np.minimum(np.searchsorted(source.ravel()[order], moved.ravel()), source.size - 1)
    known = source.ravel()[order][at] == moved.ravel()
    return np.where(known, order[at], -1).reshape(moved.shape)


def _joined(source: Array, moved: Array) -> Array | None:
    """Return the places where a larger array holds the source as a block at the beginning or end of one axis."""
    if source.ndim != moved.ndim:
        return None
    longer = [axis for axis in range(source.ndim) if source.shape[axis] != moved.shape[axis]]
    if len(longer) != 1:
        return None
    axis, size = longer[0], source.shape[longer[0]]
    for block in (slice(0, size), slice(moved.shape[axis] - size, None)):
        inside = tuple(block if one == axis else slice(None) for one in range(source.ndim))
        if np.array_equal(moved[inside], source):
            found = np.full(moved.shape, -1)
            found[inside] = np.arange(source.size).reshape(source.shape)
            return found
    return None
