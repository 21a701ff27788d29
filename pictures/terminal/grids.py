"""Grids as aligned columns, in bands where they are wider than the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.text import Text
from veriformer.pictures.labels import column_labels, row_labels
from veriformer.pictures.marks import shown
from veriformer.pictures.model import Cell, Grid
from veriformer.pictures.terminal.texts import STYLES, folded, padded, printable


def grid(grid: Grid, width: int) -> list[Text]:
    """Return the title, the columns with their labels, and what was left out."""
    columns = max(map(len, grid.cells), default=0)
    widths = [_column_width(grid, column) for column in range(columns)]
    headers = _row_headers(grid)
    room = width - (cell_len(headers[0]) + 1 if headers else 0)
    body = [line for band in _bands(widths, room) for line in _band(grid, band, widths, headers)]
    title_width = max([width if len(body) == 1 else 0, *(line.cell_len for line in body), min(width, 24)])
    return [*folded(grid.title, title_width, "bold"), *body, *folded(grid.note, width, "dim")]


def _band(grid: Grid, columns: range, widths: Sequence[int], headers: Sequence[str]) -> list[Text]:
    labels = [printable(label) for label in column_labels(grid)]
    lines = []
    if labels or grid.column_axis:
        top = [padded(headers[0], cell_len(headers[0]), "dim")] if headers else []
        lines.append(Text(" ").join([*top, *(padded(labels[column], widths[column], "dim") for column in columns)]))
    for number, row in enumerate(grid.cells):
        start = [padded(headers[number + 1], cell_len(headers[0]), "dim")] if headers else []
        cells = [
            padded(_text(grid, row, column), widths[column], STYLES[row[column].mark])
            for column in columns
            if column < len(row)
        ]
        lines.append(Text(" ").join([*start, *cells]))
    return lines


def _row_headers(grid: Grid) -> list[str]:
    """Return what stands left of the rows, above them the names of the axes; nothing where rows have no labels."""
    labels = [printable(label) for label in row_labels(grid)]
    if not labels:
        return []
    axes = " ".join(
        f"{printable(axis)}{arrow}" for axis, arrow in ((grid.row_axis, "↓"), (grid.column_axis, "→")) if axis
    )
    wide = max(map(cell_len, (axes, *labels)))
    return [axes.ljust(wide - cell_len(axes) + len(axes)), *labels]


def _text(grid: Grid, row: Sequence[Cell], column: int) -> str:
    """Return the text of a cell, with room behind it where another of its column has a cross there."""
    crossed = any(column < len(other) and other[column].mark == "wrong" for other in grid.cells)
    if row[column].mark == "wrong":
        return f"{printable(row[column].text)}✗"
    return printable(shown(row[column])) + " " * crossed


def _column_width(grid: Grid, column: int) -> int:
    labels = column_labels(grid)
    texts = [_text(grid, row, column) for row in grid.cells if column < len(row)]
    return max(map(cell_len, [*texts, *([printable(labels[column])] if labels else [])]), default=0)


def _bands(widths: Sequence[int], room: int) -> Iterator[range]:
    """Yield runs of columns that fit; a column that is too wide alone has its own."""
    first, used = 0, 0
    for column, wide in enumerate(widths):
        if column > first and used + 1 + wide > room:
            yield range(first, column)
            first, used = column, 0
        used += wide + (1 if column > first else 0)
    yield range(first, len(widths))
