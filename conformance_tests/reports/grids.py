"""Arrays of a case as pictures: the arguments, who sees whom, and expected, got and difference with the wrong marked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from veriformer.conformance_tests.core.text import joined, plain
from veriformer.conformance_tests.core.verdict import Verdict
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.reports.arrays import axis_names, shape_of_result
from veriformer.conformance_tests.reports.figures import cell, number, telling_digits
from veriformer.pictures.model import Cell, ErrorBar, Grid, Mark, Picture, Row
from veriformer.spec.operations import Operation

_MOST_ROWS = 8
_MOST_COLUMNS = 8
_MOST_MATRICES = 4
_MOST_COMPARED = 2

Names = tuple[str, ...] | None


@dataclass(frozen=True)
class Piece:
    """The part of an array that is shown: the index of a matrix in it, and which of its rows and columns."""

    index: tuple[int, ...]
    rows: slice
    columns: slice

    def of(self, array: Array) -> Array:
        """Return the piece of an array of at least two axes."""
        matrix: Array = array[self.index]
        return matrix[self.rows, self.columns]


def drawable(value: Any) -> bool:
    """Return whether an argument is drawn: an array whose entries differ and that is small enough to be read."""
    if not isinstance(value, np.ndarray) or value.size < 2 or np.all(value == value.flat[0]):
        return False
    rows, columns = (int(size) for size in (1, 1, *value.shape)[-2:])
    return rows <= _MOST_ROWS and columns <= _MOST_COLUMNS and value.size // (rows * columns) <= _MOST_MATRICES


def argument_grids(name: str, value: Array, shape: str) -> list[Picture]:
    """Return the matrices of an argument, who sees whom where it is a mask; `shape` is as the specification has it."""
    names = axis_names(shape, value.ndim)
    if value.dtype == bool and value.ndim >= 2:
        return [_mask(f"{name}, {place}" if place else name, matrix) for place, matrix in _matrices(value, names)]
    return [
        _grid(
            f"{plain(name)}, {place}" if place else plain(name), [[Cell(cell(x)) for x in row] for row in matrix], names
        )
        for place, matrix in ((place, matrix.tolist()) for place, matrix in _matrices(value, names))
    ]


def sight_grids(title: str, visible: Array) -> list[Picture]:
    """Return who sees whom, (B, H, L, S), once for each mask among samples and heads; none where all see all."""
    if visible.ndim != 4 or visible.all() or max(visible.shape[-2:]) > 4 * _MOST_COLUMNS:
        return []
    matrices = visible.reshape(-1, *visible.shape[-2:])
    if (matrices == matrices[0]).all():
        return [_mask(title, matrices[0])]
    if len(matrices) > _MOST_MATRICES:
        return []
    return [_mask(f"{title}, {place}", matrix) for place, matrix in _matrices(visible, ("sample", "head", "", ""))]


def comparison_grids(
    expected: Array, actual: Array, wrong: Array, operation: Operation, part: str = "", names: Sequence[str] = ()
) -> list[Row]:
    """Return expected, got and difference side by side, for the first matrices in which they differ."""
    arrays = [np.atleast_2d(one) for one in np.broadcast_arrays(expected, actual, wrong)]
    expected, actual, wrong = (arrays[0].astype(float), arrays[1].astype(float), arrays[2])
    digits = telling_digits(expected, actual, wrong)
    axes = axis_names(shape_of_result(operation, part), expected.ndim)
    return [
        _compared(piece, (expected, actual, wrong), digits, axes, tuple(names) or ("expected", "got"))
        for piece in _pieces(wrong)
    ]


def error_bar(verdict: Verdict) -> ErrorBar | None:
    """Return the largest error and what rounding explains of it; None for a verdict in words."""
    if isinstance(verdict.expected, str) or isinstance(verdict.actual, str) or verdict.wrong is None:
        return None
    expected, actual, wrong = np.broadcast_arrays(verdict.expected, verdict.actual, verdict.wrong)
    with np.errstate(invalid="ignore"):
        errors = np.abs(actual - expected)[wrong]
    error = float(np.nan_to_num(errors, nan=np.inf).max(initial=0.0))
    explained = error / verdict.excess if np.isfinite(verdict.excess) and verdict.excess else 0.0
    return ErrorBar("The error beside what rounding explains", error, explained) if np.isfinite(error) else None


def _pieces(wrong: Array) -> Iterator[Piece]:
    """Yield the first matrices with wrong entries, each cut to where these are."""
    found = [index for index in np.ndindex(wrong.shape[:-2]) if wrong[index].any()]
    for index in found[:_MOST_COMPARED]:
        matrix: Array = wrong[index]
        rows, columns = (np.asarray(matrix.any(axis=axis)) for axis in (1, 0))
        yield Piece(index, _around(rows, _MOST_ROWS), _around(columns, _MOST_COLUMNS))


def _around(wrong: Array, most: int) -> slice:
    """Return as many positions as are shown, beginning just before the first wrong one."""
    if len(wrong) <= most:
        return slice(0, len(wrong))
    first = min(max(int(wrong.argmax()) - 1, 0), len(wrong) - most)
    return slice(first, first + most)


def _compared(
    piece: Piece, arrays: tuple[Array, Array, Array], digits: int, axes: Names, titles: tuple[str, ...]
) -> Row:
    expected, actual, wrong = arrays
    bad = piece.of(wrong)
    with np.errstate(invalid="ignore"):
        difference = piece.of(actual) - piece.of(expected)
    parts = (
        (titles[0], piece.of(expected), False),
        (titles[1], piece.of(actual), True),
        ("difference", difference, True),
    )
    grids = tuple(
        _labelled(
            plain(title), _cells(values, bad if marked else None, digits if title != "difference" else 3), piece, axes
        )
        for title, values, marked in parts
    )
    return Row(joined([_place(piece.index, wrong.shape, axes), *_left_out(piece, wrong.shape)]), grids)


def _cells(values: Array, wrong: Array | None, digits: int) -> list[list[Cell]]:
    marks = np.zeros(values.shape, dtype=bool) if wrong is None else wrong
    return [
        [Cell(number(x, digits), "wrong" if bad else "plain") for x, bad in zip(row, line, strict=True)]
        for row, line in zip(values.tolist(), marks.tolist(), strict=True)
    ]


def _left_out(piece: Piece, shape: tuple[int, ...]) -> list[str]:
    sides = (("rows", piece.rows, shape[-2]), ("columns", piece.columns, shape[-1]))
    return [
        f"{name} {shown.start} to {shown.stop - 1} of {size}"
        for name, shown, size in sides
        if shown.stop - shown.start < size
    ]


def _labelled(title: str, cells: list[list[Cell]], piece: Piece, axes: Names) -> Grid:
    rows, columns = (tuple(map(str, range(shown.start, shown.stop))) for shown in (piece.rows, piece.columns))
    names = ("", "") if axes is None or len(axes) < 2 else axes[-2:]
    return Grid(title, tuple(map(tuple, cells)), names[0], names[1], rows, columns)


def _grid(title: str, cells: list[list[Cell]], axes: Names) -> Grid:
    names = ("", "") if axes is None or len(axes) < 2 else axes[-2:]
    return Grid(title, tuple(map(tuple, cells)), names[0], names[1])


def _mask(title: str, visible: Array) -> Grid:
    marks: tuple[Mark, Mark] = ("hidden", "visible")
    cells = tuple(tuple(Cell("", marks[int(seen)]) for seen in row) for row in np.atleast_2d(visible).tolist())
    return Grid(plain(title), cells, "query", "key")


def _matrices(value: Array, names: Names) -> Iterator[tuple[str, Array]]:
    if value.ndim < 2:
        yield "", value.reshape(1, -1)
        return
    for index in np.ndindex(value.shape[:-2]):
        yield _place(index, value.shape, names), value[index]


def _place(index: tuple[int, ...], shape: tuple[int, ...], names: Names) -> str:
    """Return the position of a matrix in words; axes of size one are left out."""
    shown = [axis for axis in range(len(index)) if shape[axis] > 1]
    if names is None or len(names) != len(shape):
        return str([index[axis] for axis in shown]) if shown else ""
    return joined(f"{names[axis]} {index[axis]}" for axis in shown)
