"""Whether vectors stay at their positions: on the way from the stream through a sublayer, and from the last map out.

Moving numbers is no computation, so that nothing else of the recognition sees a sequence that is one position late.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from veriformer.adapters.capture.trace import Kind
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.recognition.expressions import Expression, Norm
from veriformer.conformance_tests.recognition.flow import Flow
from veriformer.conformance_tests.recognition.maps import LinearMap
from veriformer.conformance_tests.recognition.streams import Place
from veriformer.conformance_tests.recognition.sublayers import FeedForwardSublayer
from veriformer.conformance_tests.recognition.suspicion import Suspicion
from veriformer.conformance_tests.recognition.tracking import carried

MOVED = "vectors go to other positions of the stream"
KEPT = "vectors stay at their positions"
REPLACED = "some vectors at other positions, or others among them"


@dataclass(frozen=True)
class Moved:
    """A sublayer whose output goes to other positions of the stream; `step` is the one that moves it, or its last.

    `is_whole` says that each vector comes to a position of its own, so that none is lost.
    """

    step: int
    is_whole: bool = False


def moved_in(flow: Flow, place: Place) -> Moved | None:
    """Return where a sublayer moves vectors to other positions; None where it does not, or the way cannot be followed.

    A window that is rolled and rolled back, and axes that are exchanged, keep their positions. The stream that the
    output is added to may be in the order of windows too: a whole layer is given them, and they are laid back later.
    """
    root = _root(place)
    if place.result is None or min(root.value, place.result.value) < 0:
        return None
    total, left = place.result.value, place.sublayer.exit.output
    ways = [(root.value, place.sublayer.entry.input), (left, total)]
    read, given = (_rows(flow, *way) for way in ways)
    beside = _added_to(flow, total, root.value)
    if beside is not None:
        ways.append((root.value, beside))
        kept = _rows(flow, root.value, beside)
    else:
        # Sublayers side by side are added to each other first.
        kept = np.arange(len(read)) if read is not None and flow.shape(root.value) == flow.shape(total) else None
    if read is None or given is None or kept is None or not len(read) == len(given) == len(kept):
        return None
    inside = [(one.output, place.sublayer.exit.input) for one in _inner(place)]
    hidden = [rows for way in inside if (rows := _rows(flow, *way)) is not None and rows.max(initial=0) < len(read)]
    whole = all(np.array_equal(read[rows][given], kept) for rows in hidden or (np.arange(len(read)),))
    if whole:
        return None
    ways.extend(inside)
    step = next((step for start, end in ways for step in _moving(flow, start, end)), place.sublayer.exit.step)
    return Moved(step, is_whole=len(np.unique(read[given])) == len(np.unique(kept)) == len(kept))


def mistakes_of_positions(flow: Flow, place: Place) -> Iterator[Suspicion]:
    """Yield that what a sublayer gives for each position is added to another one, as windows that are not laid back."""
    moved = moved_in(flow, place)
    if moved is not None and moved.is_whole:
        sentence = "what the sublayer gives for a position is added to another position"
        made = flow.maker(place.result.value) if place.result is not None else None
        yield Suspicion("residual", moved.step if made is None else made, sentence, ())


def displaced_by(flow: Flow, places: Sequence[Place], end: int) -> Place | None:
    """Return the sublayer behind which the vectors of a stream are at other positions, up to its end; None if none is.

    Layers may be given windows, and rolled ones, if they are laid back behind them. None where the way cannot be
    followed. `end` is the stream behind its last sublayer, before it is moved.
    """
    orders = _orders(flow, places)
    if not orders or len(orders) < len(places) or orders[-1][0] != flow.source(end):
        return None
    if _is_in_order(flow, *orders[-1], list(_moved_on(flow, end))[-1]):
        return None
    kept = [
        any(_is_in_order(flow, total, order, one) for one in _moved_on(flow, total)) for total, order in orders[:-1]
    ]
    return places[len(kept) - kept[::-1].index(True) if True in kept else 0]


def _orders(flow: Flow, places: Sequence[Place]) -> list[tuple[int, Array]]:
    """Return each sum of a stream with the position that each of its vectors had at first, as far as they are known."""
    found: list[tuple[int, Array]] = []
    for place in places:
        root = _root(place)
        if place.result is None or min(root.value, place.result.value) < 0:
            break
        total = place.result.value
        beside = _added_to(flow, total, root.value)
        kept = None if beside is None else _rows(flow, root.value, beside)
        before = _rows(flow, found[-1][0], root.value) if found else None
        if kept is None or (found and (before is None or len(before) != len(kept))):
            break
        found.append((total, kept if before is None else found[-1][1][before][kept]))
    return found


def _is_in_order(flow: Flow, total: int, order: Array, moved: int) -> bool:
    """Return whether a sum of a known order is in that of the stream's beginning once its vectors are moved."""
    rows = _rows(flow, total, moved)
    return rows is None or _is_turned(order[rows].reshape(flow.shape(moved)[:-1]))


def _moved_on(flow: Flow, value: int) -> Iterator[int]:
    """Yield a value and what becomes of it by moving its numbers, before anything is computed of them."""
    following: int | None = value
    while following is not None:
        yield following
        size, moves = flow.array(following).size, [flow.steps[one] for one in flow.users(following)]
        moved = (one.results[0] for one in moves if one.kind == Kind.REARRANGEMENT and len(one.results) == 1)
        following = next((one for one in moved if flow.array(one).size == size), None)


def stream_positions(flow: Flow, place: Place) -> Array | None:
    """Return which vector of the stream each vector is that a sublayer reads; None where the way cannot be followed."""
    root = _root(place)
    return None if root.value < 0 else _rows(flow, root.value, place.sublayer.entry.input)


def _root(place: Place) -> Expression:
    """Return the stream that a sublayer reads, without its norm."""
    return place.input.of if isinstance(place.input, Norm) and place.input is place.before else place.input


def is_replaced(flow: Flow, given: int, taken: Iterable[int]) -> bool:
    """Return whether vectors are at other positions, or others among them, in what is taken of a value afterwards.

    Of fewer or more vectors, as of the last position alone, nothing is said.
    """
    after = flow.descendants(given)
    for value in taken:
        shape = flow.shape(value)
        if value not in after or flow.array(value).size != flow.array(given).size or len(shape) < 2:
            continue
        places = carried(flow, given, value)
        if places is None:
            continue
        if (places < 0).any():
            return True
        rows = _rows_of(places, flow.shape(given)[-1])
        if rows is not None and rows.size != math.prod(shape[:-1]):
            # Its last axis is another one, as the channels of an image are.
            continue
        if rows is not None and not _is_turned(rows.reshape(shape[:-1])):
            return True
    return False


def _inner(place: Place) -> tuple[LinearMap, ...]:
    """Return the maps that give the hidden layer of a network; none of an attention, which mixes positions."""
    return place.sublayer.inner if isinstance(place.sublayer, FeedForwardSublayer) else ()


def _added_to(flow: Flow, total: int, stream: int) -> int | None:
    """Return the operand of a sum that the stream is, as far as numbers are only moved."""
    step = flow.making(total)
    if step is None or step.kind != Kind.ADDITION:
        return None
    return next((one for one in step.operands if flow.source(one) == stream or one == stream), None)


def _rows(flow: Flow, start: int, end: int) -> Array | None:
    """Return for each vector of a value which vector of an earlier one it was; None where that cannot be told."""
    width = flow.shape(start)[-1] if flow.shape(start) else 0
    if not width or flow.array(start).size != flow.array(end).size:
        return None
    places = carried(flow, start, end)
    return None if places is None else _rows_of(places, width)


def _rows_of(places: Array, width: int) -> Array | None:
    """Return the vector of each vector's numbers; None where one has numbers of several, or in another order."""
    rows, columns = np.divmod(places.reshape(-1, width), width)
    whole = (rows == rows[:, :1]).all() and (columns == np.arange(width)).all()
    return rows[:, 0] if whole else None


def _is_turned(rows: Array) -> bool:
    """Return whether vectors are in their order, or in that of exchanged axes."""
    for axes in permutations(range(rows.ndim)):
        shape = tuple(rows.shape[axes.index(axis)] for axis in range(rows.ndim))
        if np.array_equal(np.arange(rows.size).reshape(shape).transpose(axes), rows):
            return True
    return False


def _moving(flow: Flow, start: int, end: int) -> Iterator[int]:
    """Yield the steps that move vectors to other positions."""
    for index in flow.between(start, end):
        step = flow.steps[index]
        sources = [one for one in step.operands if flow.array(one).dtype.kind == "f"]
        if step.kind != Kind.REARRANGEMENT or len(sources) != 1 or len(step.results) != 1:
            continue
        before, after = flow.array(sources[0]), flow.array(step.results[0])
        rows = _rows(flow, sources[0], step.results[0]) if before.shape[-1:] == after.shape[-1:] else None
        if rows is not None and not _is_turned(rows.reshape(after.shape[:-1])):
            yield index
