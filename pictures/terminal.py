"""Pictures as lines of a terminal.

lines(picture, width)   the rows of text, none wider than `width` where the picture can be made so narrow
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.text import Text
from veriformer.pictures.model import Cell, Grid, Picture, Row


def lines(picture: Picture, width: int) -> list[Text]:
    """Return the rows of a picture; control characters in its texts are the caller's to replace."""
    return _DRAWERS[type(picture)](picture, width)


def _grid(grid: Grid, width: int) -> list[Text]:
    widest = max((len(cell.text) for row in grid.cells for cell in row), default=0)
    return [Text(grid.title, style="dim"), *(Text(" ").join(_cell(cell, widest) for cell in row) for row in grid.cells)]


def _cell(cell: Cell, width: int) -> Text:
    return Text(cell.text.rjust(width), style="bold red" if cell.mark == "wrong" else "")


def _row(row: Row, width: int) -> list[Text]:
    return [line for picture in row.pictures for line in lines(picture, width)]


_DRAWERS: dict[type[Any], Callable[[Any, int], list[Text]]] = {Grid: _grid, Row: _row}
