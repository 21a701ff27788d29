"""Expected and received results as pictures, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from veriformer.lessons.fractions_shown import exact
from veriformer.pictures.model import Cell, Grid, Row
from veriformer.pictures.numbers import FEWEST_DIGITS

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
    from veriformer.conformance_tests.reports.figures import telling_digits

    arrays = np.broadcast_arrays(verdict.expected, verdict.actual, verdict.wrong)
    place = _place(arrays[2])
    where = _where(place, arrays[0].shape, operation, verdict.note)
    expected, got, wrong = (_matrix(array, place) for array in arrays)
    digits = telling_digits(expected, got, wrong)
    # Only where they tell the wrong number from the expected one: elsewhere more digits are noise.
    shown = np.where(wrong, digits, FEWEST_DIGITS)
    unmarked = np.zeros_like(wrong)
    return Row(where, (_grid("expected", expected, unmarked, shown), _grid("got", got, wrong, shown)))


def matrix_grid(title: str, matrix: Array, row_axis: str = "", column_axis: str = "") -> Grid:
    """Return a matrix as a picture, its numbers as fractions where they are some."""
    rows = np.atleast_2d(matrix)
    return _grid(
        title, rows, np.zeros(rows.shape, dtype=bool), np.full(rows.shape, FEWEST_DIGITS), row_axis, column_axis
    )


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


def _grid(title: str, matrix: Array, wrong: Array, digits: Array, row_axis: str = "", column_axis: str = "") -> Grid:
    cells = tuple(
        tuple(Cell(exact(value, int(most)), "wrong" if bad else "plain") for value, bad, most in zip(*row, strict=True))
        for row in zip(matrix, wrong, digits, strict=True)
    )
    return Grid(title, cells, row_axis, column_axis)
