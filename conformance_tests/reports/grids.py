"""Arrays of a case as pictures: the arguments, who sees whom, and expected, got and difference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from veriformer.conformance_tests.core.text import joined, plain
from veriformer.conformance_tests.core.verdict import Verdict
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.reports.arrays import axis_names, shape_of_result
from veriformer.pictures.from_arrays import compared, mask, values
from veriformer.pictures.model import ErrorBar, Grid, Picture, Row
from veriformer.spec.operations import Operation

_LONGEST_AXIS = 8
_LONGEST_MASK = 32
_MOST_MATRICES = 4
_MOST_COMPARED = 2
# What the specification writes as a letter or leaves open.
_IN_WORDS = {"...": "", "E": "component"}

Names = tuple[str, ...] | None


def drawable(value: Any) -> bool:
    """Return whether an argument is drawn: an array whose entries differ and that is small enough to be read."""
    if not isinstance(value, np.ndarray) or value.size < 2 or np.all(value == value.flat[0]):
        return False
    rows, columns = (int(size) for size in (1, 1, *value.shape)[-2:])
    return max(rows, columns) <= _LONGEST_AXIS and value.size // (rows * columns) <= _MOST_MATRICES


def argument_grids(name: str, value: Array, shape: str) -> list[Picture]:
    """Return the matrices of an argument, who sees whom where it is a mask; `shape` is as the specification has it."""
    names = axis_names(shape, value.ndim)
    axes = ("query", "key") if value.dtype == bool and value.ndim > 1 and names is None else _last(names)
    return [values(plain(joined([name, place])), matrix, axes=axes) for place, matrix in _matrices(value, names)]


def sight_grids(title: str, visible: Array) -> list[Picture]:
    """Return who sees whom, (B, H, L, S), once for each mask among samples and heads; none where all see all."""
    if visible.ndim != 4 or visible.all() or max(visible.shape[-2:]) > _LONGEST_MASK:
        return []
    matrices = visible.reshape(-1, *visible.shape[-2:])
    if (matrices == matrices[0]).all():
        return [mask(title, matrices[0])]
    if len(matrices) > _MOST_MATRICES:
        return []
    return [mask(joined([title, place]), matrix) for place, matrix in _matrices(visible, ("sample", "head", "", ""))]


def comparison_grids(
    expected: Array, actual: Array, wrong: Array, operation: Operation, part: str = "", titles: Sequence[str] = ()
) -> list[Row]:
    """Return expected, got and difference side by side, for the first matrices in which they differ.

    `part` names the result that they are of where there are several, `titles` the two arrays where neither is expected.
    """
    wanted, got, bad = (np.atleast_2d(one) for one in np.broadcast_arrays(expected, actual, wrong))
    names = axis_names(shape_of_result(operation, part), wanted.ndim)
    found = [index for index in np.ndindex(bad.shape[:-2]) if bad[index].any()]
    return [
        _titled(compared(_place(index, bad.shape, names), wanted[index], got[index], bad[index], _last(names)), titles)
        for index in found[:_MOST_COMPARED]
    ]


def error_bar(verdict: Verdict) -> ErrorBar | None:
    """Return the largest error and what rounding explains of it; None for a verdict in words, and for no number."""
    if isinstance(verdict.expected, str) or isinstance(verdict.actual, str) or verdict.wrong is None:
        return None
    expected, actual, wrong = np.broadcast_arrays(verdict.expected, verdict.actual, verdict.wrong)
    with np.errstate(invalid="ignore"):
        error = float(np.abs(actual - expected)[wrong].max(initial=0.0))
    if not np.isfinite(error):
        return None
    explained = error / verdict.excess if np.isfinite(verdict.excess) and verdict.excess else 0.0
    return ErrorBar("The error and what rounding explains", error, explained)


def _titled(row: Row, titles: Sequence[str]) -> Row:
    """Return expected, got and difference under other titles."""
    grids = [
        replace(grid, title=plain(title)) if isinstance(grid, Grid) else grid
        for grid, title in zip(row.pictures, titles, strict=False)
    ]
    return replace(row, pictures=(*grids, *row.pictures[len(grids) :]))


def _last(names: Names) -> tuple[str, str]:
    """Return the names of the axes along rows and columns."""
    if names is None or len(names) < 2:
        return "", ""
    return _IN_WORDS.get(names[-2], names[-2]), _IN_WORDS.get(names[-1], names[-1])


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
