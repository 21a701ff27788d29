"""Angles as arrows: a row for each position."""

from __future__ import annotations

import math

from rich.text import Text
from veriformer.pictures.labels import clock_column_labels, clock_row_labels
from veriformer.pictures.model import Cell, Clocks, Grid
from veriformer.pictures.terminal.grids import grid

_ARROWS = "↑↗→↘↓↙←↖"


def clocks(clocks: Clocks, width: int) -> list[Text]:
    """Return a grid of arrows that turn clockwise, each the nearest of eight directions."""
    cells = tuple(tuple(Cell(_arrow(angle)) for angle in angles) for angles in clocks.angles)
    labels = clock_row_labels(clocks), clock_column_labels(clocks)
    return grid(Grid(clocks.title, cells, row_labels=labels[0], column_labels=labels[1]), width)


def _arrow(angle: float) -> str:
    if not math.isfinite(angle):
        return "?"
    return _ARROWS[round(angle / (2 * math.pi) * len(_ARROWS)) % len(_ARROWS)]
