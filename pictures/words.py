"""Every picture in a sentence or two, for those who do not see it; nothing is said that its record does not say."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from veriformer.pictures.formulas import one_line
from veriformer.pictures.labels import clock_column_labels, clock_row_labels, column_labels, row_labels
from veriformer.pictures.marks import MEANINGS, STATUS_MEANINGS, SYMBOLS
from veriformer.pictures.model import (
    Chart,
    Clocks,
    ErrorBar,
    Formula,
    Grid,
    Line,
    Mark,
    Node,
    Picture,
    Row,
    Status,
    Tree,
    Visits,
)
from veriformer.pictures.numbers import number

_MOST = 4
# Where almost no error is allowed, the multiple has no meaning.
_BEYOND_COMPARISON = 1e12


def words(picture: Picture) -> str:
    """Return a picture in plain words, without markup."""
    return _SPEAKERS[type(picture)](picture)


def excess(bar: ErrorBar) -> str:
    """Return by how much an error exceeds what rounding explains, or that it does not."""
    if not bar.error > bar.explained and not math.isnan(bar.error):
        return f"the error is {number(bar.error, 3)}, no more than rounding explains ({number(bar.explained, 3)})"
    if bar.explained <= 0:
        return f"the error is {number(bar.error, 3)}, where no rounding is allowed"
    times = bar.error / bar.explained
    if not times < _BEYOND_COMPARISON:
        return f"the error is {number(bar.error, 3)}, more than any rounding explains ({number(bar.explained, 3)})"
    digits = 2 if times < 10 or times >= 1e4 else 3
    explained = f"{number(times, digits)} times what rounding explains ({number(bar.explained, 3)})"
    return f"the error is {number(bar.error, 3)}, {explained}"


def _grid(grid: Grid) -> str:
    shown = [[cell for cell in row if cell.mark != "omitted"] for row in grid.cells]
    size = f"{sum(map(bool, shown))} × {max(map(len, shown), default=0)}"
    axes = f", {grid.row_axis or 'row'} by {grid.column_axis or 'column'}" if grid.row_axis or grid.column_axis else ""
    parts = [f"a grid of {size}{axes}", *_cells_by_mark(grid)]
    return " ".join([_sentence(grid.title, "; ".join(parts)), *([_sentence("", grid.note)] if grid.note else [])])


def _cells_by_mark(grid: Grid) -> list[str]:
    counts = Counter(cell.mark for row in grid.cells for cell in row)
    named: dict[Mark, str] = {"visible": "visible", "hidden": "hidden", "unseen": "not tried"}
    parts = [f"{counts[mark]} {meaning}" for mark, meaning in named.items() if counts[mark]]
    wrong = [
        _cell_words(grid, i, j)
        for i, row in enumerate(grid.cells)
        for j, cell in enumerate(row)
        if cell.mark == "wrong"
    ]
    return [*parts, f"{len(wrong)} wrong: {_some(wrong)}"] if wrong else parts


def _cell_words(grid: Grid, row: int, column: int) -> str:
    """Return where a cell is and what it says: "query 0, key 3: 1/2"."""
    rows, columns = row_labels(grid), column_labels(grid)
    place = [f"{grid.row_axis or 'row'} {rows[row] if rows else row}"] if len(grid.cells) > 1 or rows else []
    place += [f"{grid.column_axis or 'column'} {columns[column] if columns else column}"]
    text = grid.cells[row][column].text
    said = next((MEANINGS[mark] for mark in MEANINGS if text and SYMBOLS[mark] == text), text)
    return f"{', '.join(place)}{f' ({said})' if said else ''}"


def _error_bar(bar: ErrorBar) -> str:
    return _sentence(bar.title, excess(bar))


def _tree(tree: Tree) -> str:
    nodes = [node for root in tree.nodes for node in _all_nodes(root)]
    counts = Counter(node.status for node in nodes)
    named: dict[Status, str] = {"holds": "hold", "departs": "depart", "unrecognised": "not recognised"}
    parts = [
        f"{counts[status]} {STATUS_MEANINGS[status] if counts[status] == 1 else several}"
        for status, several in named.items()
        if counts[status]
    ]
    departing = [node.label for node in nodes if node.status == "departs"]
    where = [f"what departs: {_some(departing)}"] if departing else []
    return _sentence(tree.title, "; ".join([", ".join([_counted(len(nodes), "part"), *parts]), *where]))


def _all_nodes(node: Node) -> list[Node]:
    return [node, *(below for child in node.children for below in _all_nodes(child))]


def _clocks(clocks: Clocks) -> str:
    rows, columns = clock_row_labels(clocks), clock_column_labels(clocks)
    hands = [
        f"{label or number_} at {', '.join(f'{math.degrees(angle) % 360:.0f}°' for angle in angles)}"
        for number_, (label, angles) in enumerate(zip(rows, clocks.angles, strict=True))
    ]
    each = f"{_counted(len(columns), 'clock')} for each of {_counted(len(rows), 'position')}"
    return _sentence(clocks.title, "; ".join([each, *([_some(hands)] if hands else [])]))


def _chart(chart: Chart) -> str:
    lines = [_line(line, chart) for line in chart.lines]
    return _sentence(chart.title, f"{chart.y_axis} over {chart.x_axis}; {'; '.join(lines) or 'no line'}")


def _line(line: Line, chart: Chart) -> str:
    if not line.points:
        return f"{line.label} has no points"
    (x, y), (last_x, last_y) = line.points[0], line.points[-1]
    start = f"{number(y, 3)} at {chart.x_axis} {number(x, 3)}"
    if len(line.points) == 1:
        return f"{line.label} is {start}"
    return f"{line.label} goes from {start} to {number(last_y, 3)} at {number(last_x, 3)}"


def _visits(visits: Visits) -> str:
    regions = [(axis, region) for axis, regions in visits.axes for region in regions]
    missed = [f"{region.label} ({axis})" for axis, region in regions if not region.cases]
    tried = f"{len(regions) - len(missed)} of {_counted(len(regions), 'region')} visited"
    return _sentence(visits.title, f"{tried}; not visited: {_some(missed)}" if missed else tried)


def _formula(formula: Formula) -> str:
    return one_line(formula.latex)


def _row(row: Row) -> str:
    return " ".join([*([f"{row.title.rstrip('.:')}."] if row.title else []), *map(words, row.pictures)])


def _sentence(title: str, text: str) -> str:
    """Return a sentence that a title opens; a title may be a name, which is written as it is."""
    return f"{title.rstrip('.:')}: {text}." if title else f"{text[:1].upper()}{text[1:]}."


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _some(items: Sequence[str]) -> str:
    rest = len(items) - _MOST
    return "; ".join(items[:_MOST]) + (f" and {rest} more" if rest > 0 else "")


_SPEAKERS: dict[type[Any], Callable[[Any], str]] = {
    Grid: _grid,
    ErrorBar: _error_bar,
    Tree: _tree,
    Clocks: _clocks,
    Chart: _chart,
    Visits: _visits,
    Formula: _formula,
    Row: _row,
}
