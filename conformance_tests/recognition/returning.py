"""Whether what a sublayer gives for a position is added to that position: windows are shifted and laid back."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.recognition.expressions import Norm
from veriformer.conformance_tests.recognition.flow import Flow
from veriformer.conformance_tests.recognition.streams import Place
from veriformer.conformance_tests.recognition.suspicion import Suspicion
from veriformer.conformance_tests.recognition.tracking import carried


def returning_mistakes(flow: Flow, place: Place) -> Iterator[Suspicion]:
    """Yield that a sublayer's outputs are added to other positions than those that it read."""
    read, given = _rows_read(flow, place), _rows_given(flow, place)
    if read is None or given is None or len(read) != len(given) or not _go_by_rows(flow, place):
        return
    astray = int((read[given] != np.arange(len(read))).sum())
    if astray:
        sentence = "what the sublayer gives for a position is added to another position"
        made = flow.maker(place.result.value) if place.result is not None else None
        yield Suspicion("residual", place.sublayer.exit.step if made is None else made, sentence, ())


def _go_by_rows(flow: Flow, place: Place) -> bool:
    """Return whether a sublayer's result has a row for each row that it reads, in the same order."""
    entry, leaving = flow.shape(place.sublayer.entry.input), flow.shape(place.sublayer.exit.output)
    return entry[:-1] == leaving[:-1]


def _rows_read(flow: Flow, place: Place) -> Array | None:
    """Return for each row that a sublayer reads the row of the stream that it is."""
    start = place.input.value
    if start < 0 or (isinstance(place.input, Norm) and flow.array(start).ndim < 2):
        return None
    return _rows(flow, start, place.sublayer.entry.input)


def _rows_given(flow: Flow, place: Place) -> Array | None:
    """Return for each row of the sum the row of the sublayer's output that is added to it."""
    result = None if place.result is None or place.result.value < 0 else flow.making(place.result.value)
    if result is None:
        return None
    leaving = place.sublayer.exit.output
    behind = [one for one in result.operands if one == leaving or leaving in flow.ancestors(one)]
    return _rows(flow, leaving, behind[0]) if len(behind) == 1 else None


def _rows(flow: Flow, start: int, end: int) -> Array | None:
    """Return for each row of one value the row of an earlier value that it holds; None where it mixes rows."""
    first, last = flow.array(start), flow.array(end)
    if first.ndim < 2 or first.size != last.size or first.shape[-1] != last.shape[-1]:
        return None
    width = first.shape[-1]
    if start == end or np.array_equal(first.ravel(), last.ravel()):
        return np.arange(first.size // width)
    found = carried(flow, start, end)
    if found is None or (found < 0).any():
        return None
    rows, columns = np.divmod(found.reshape(-1, width), width)
    kept = (rows == rows[:, :1]).all() and (columns == np.arange(width)).all()
    return rows[:, 0] if kept and len(np.unique(rows[:, 0])) == len(rows) else None
