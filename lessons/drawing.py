"""Expected and received results as pictures, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from veriformer.lessons.fractions_shown import exact
from veriformer.pictures.model import Cell, Grid, Row

if TYPE_CHECKING:
    from veriformer.conformance_tests.core.verdict import Verdict
    from veriformer.conformance_tests.drawing.arrays import Array
    from veriformer.spec.operations import Operation

_MOST_ROWS = 8
_MOST_COLUMNS = 6


def side_by_side(verdict: Verdict, operation: Operation) -> Row | None:
    """Return the expected and the received matrix, wrong entries marked; None where the verdict is in words."""
    if verdict.wrong is None or isinstance(verdict.expected, str) or isinstance(verdict.actual, str):
        return None
    expected, got, wrong = np.broadcast_arrays(verdict.expected, verdict.actual, verdict.wrong)
    place = _place(wrong)
    where = _where(place, expected.shape, operation, verdict.note)
    grids = (
        _grid("expected", _matrix(expected, place), np.zeros_like(_matrix(wrong, place))),
        _grid("got", _matrix(got, place), _matrix(wrong, place)),
    )
    return Row(where, grids)


def matrix_grid(title: str, matrix: Array, row_axis: str = "", column_axis: str = "") -> Grid:
    """Return a matrix as a picture, its numbers as fractions where they are some."""
    return _grid(title, np.atleast_2d(matrix), np.zeros(np.atleast_2d(matrix).shape, dtype=bool), row_axis, column_axis)


def _place(wrong: Array) -> tuple[int, ...]:
    """Return the position, in all axes but the last two, of the first matrix with a wrong entry."""
    if wrong.ndim <= 2:
        return ()
    found = wrong.reshape(*wrong.shape[:-2], -1).any(axis=-1)
    return tuple(int(index) for index in np.argwhere(found)[0]) if found.any() else (0,) * (wrong.ndim - 2)


def _matrix(array: Array, place: tuple[int, ...]) -> Array:
    matrix = np.atleast_2d(array[place] if place else array)
    return matrix[:_MOST_ROWS, :_MOST_COLUMNS]


def _where(place: tuple[int, ...], shape: tuple[int, ...], operation: Operation, note: str) -> str:
    """Return the position of the matrix in words; axes of size one are left out."""
    from veriformer.conformance_tests.reports.arrays import axis_names, shape_of_result

    names = axis_names(shape_of_result(operation, note), len(shape)) or tuple(f"axis {n}" for n in range(len(shape)))
    return ", ".join(f"{names[axis]} {index}" for axis, index in enumerate(place) if shape[axis] > 1)


def _grid(title: str, matrix: Array, wrong: Array, row_axis: str = "", column_axis: str = "") -> Grid:
    cells = tuple(
        tuple(Cell(exact(value), "wrong" if bad else "plain") for value, bad in zip(row, marks, strict=True))
        for row, marks in zip(matrix, wrong, strict=True)
    )
    return Grid(title, cells, row_axis, column_axis)
