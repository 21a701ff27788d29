"""Whether two arrays hold the same numbers in the order of other axes, or in an order that no layout has."""

from __future__ import annotations

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.recognition.agreement import agree

_MOST_NUMBERS = 2**20


def is_laid_out(first: Array, second: Array) -> bool | None:
    """Return whether `second` is `first` with its axes in another order, cut up or joined; None where nothing tells.

    The place of each number of the second in the first is then a sum of whole steps: one for each axis.
    """
    if first.size != second.size or not 1 < first.size <= _MOST_NUMBERS:
        return None
    one, other = first.ravel(), second.ravel()
    by_first, by_second = np.argsort(one, kind="stable"), np.argsort(other, kind="stable")
    if not agree(other[by_second], one[by_first]) or (np.diff(one[by_first]) == 0).any():
        return None
    place = np.empty(one.size, dtype=np.int64)
    place[by_second] = by_first
    return _has_steps(place)


def _has_steps(places: Array) -> bool:
    """Return whether places are sums of steps along axes, each forwards from zero."""
    if places[0] != 0:
        return False
    while len(places) > 1:
        step = places[1]
        if step <= 0:
            return False
        along = places[: len(places)] == step * np.arange(len(places))
        length = len(places) if along.all() else int(np.argmin(along))
        while length > 1 and len(places) % length:
            length -= 1
        if length < 2:
            return False
        rows = places.reshape(-1, length)
        if not (rows - rows[:, :1] == step * np.arange(length)).all():
            return False
        places = rows[:, 0]
    return True
