"""Values of two models that belong together, and how far they are apart, however their axes are laid out."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.ports.items import Cut, PortPart
from veriformer.conformance_tests.recognition.agreement import distance

_MOST_AXES, _MOST_ROWS = 5, 512
TIGHT = 1e-10
"""Two programs that do the same in float64 differ by less, as a part of the largest entry."""


def cuts_of(first: PortPart, second: PortPart) -> Iterator[tuple[Cut, Cut]]:
    """Yield the values that both parts have, in order."""
    for item in first.items:
        other = second.by_key(item.key)
        if isinstance(item, Cut) and isinstance(other, Cut):
            yield item, other


def last_cut(part: PortPart) -> Cut | None:
    """Return the last value of a part."""
    return next((item for item in reversed(part.items) if isinstance(item, Cut)), None)


def apart(first: Array, second: Array, heads: int | None = None) -> float:
    """Return the largest difference of two values as a part of the largest entry, whatever their leading axes are.

    Heads in another order are the same, as are samples and positions that were exchanged; infinite for other sizes.
    """
    if first.size != second.size:
        return float("inf")
    if heads is not None:
        if first.shape != second.shape:
            return float("inf")
        order = _heads_in_order(first, second, heads)
        return min(distance(second, first), distance(np.take(second, order, axis=heads), first))
    nearest = float("inf")
    for way in ways(first, second):
        nearest = min(nearest, distance(way, first))
        if nearest <= TIGHT:
            break
    return nearest


def ways(first: Array, second: Array) -> Iterator[Array]:
    """Yield the ways to lay a value out as another: as it is, and with its axes exchanged, its components last."""
    yield second.reshape(first.shape)
    yield from _rows_exchanged(first, second)
    squeezed = second.squeeze()
    if squeezed.ndim > _MOST_AXES or first.ndim == 0:
        return
    for axes in permutations(range(squeezed.ndim)):
        if axes != tuple(range(squeezed.ndim)) and squeezed.shape[axes[-1]] == first.shape[-1]:
            yield squeezed.transpose(axes).reshape(first.shape)


def _rows_exchanged(first: Array, second: Array) -> Iterator[Array]:
    """Yield the second value with samples and positions exchanged, which may be in one axis."""
    width = first.shape[-1] if first.ndim else 0
    rows = first.size // max(width, 1)
    if second.ndim < 2 or second.shape[-1] != width or rows > _MOST_ROWS:
        return
    for batch in range(2, rows):
        if rows % batch == 0:
            yield second.reshape(batch, rows // batch, width).swapaxes(0, 1).reshape(first.shape)


def _heads_in_order(first: Array, second: Array, axis: int) -> list[int]:
    """Return the order of the second's heads that is nearest to the first's."""
    one, other = (np.moveaxis(array, axis, 0).reshape(array.shape[axis], -1) for array in (first, second))
    left = list(range(len(other)))
    order = []
    for head in one:
        nearest = min(left, key=lambda place: float(np.abs(other[place] - head).max()))
        order.append(nearest)
        left.remove(nearest)
    return order
