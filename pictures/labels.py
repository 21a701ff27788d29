"""The labels of a grid's rows and columns, which may be left to be counted."""

from __future__ import annotations

from veriformer.pictures.model import Clocks, Grid


def row_labels(grid: Grid) -> tuple[str, ...]:
    """Return a label for each row, or none for any where neither labels nor an axis are given."""
    return _labels(grid.row_labels, grid.row_axis, len(grid.cells))


def column_labels(grid: Grid) -> tuple[str, ...]:
    """Return a label for each column, or none for any where neither labels nor an axis are given."""
    return _labels(grid.column_labels, grid.column_axis, max(map(len, grid.cells), default=0))


def clock_row_labels(clocks: Clocks) -> tuple[str, ...]:
    """Return a label for each row of clocks, counted where they have none."""
    return _labels(clocks.row_labels, "position", len(clocks.angles))


def clock_column_labels(clocks: Clocks) -> tuple[str, ...]:
    """Return a label for each column of clocks, counted where they have none."""
    return _labels(clocks.column_labels, "pair", max(map(len, clocks.angles), default=0))


def _labels(given: tuple[str, ...], axis: str, length: int) -> tuple[str, ...]:
    """Return as many labels as there are rows; what a caller forgot is left empty."""
    if given:
        return (*given[:length], *[""] * (length - len(given)))
    return tuple(map(str, range(length))) if axis else ()
