"""Expected and received values, one above the other, with the differences marked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from veriformer.conformance_tests.core.text import joined
from veriformer.conformance_tests.core.verdict import Verdict
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.reports.arrays import axis_names, shape_of_result
from veriformer.conformance_tests.reports.figures import number, telling_digits, times
from veriformer.spec.operations import Operation

_COLUMN_GAP = 2
_ANY_NUMBER = "a number"


@dataclass(frozen=True)
class Row:
    """One row of the comparison: its position and three lines, and a fourth if there is a `reference`."""

    position: str
    expected: str
    received: str
    marks: str
    reference: str = ""


@dataclass(frozen=True)
class RowComparison:
    """The first rows that differ, and the number of the others."""

    rows: tuple[Row, ...]
    left_out: int


def compared(
    verdict: Verdict, operation: Operation, width: int, most: int, reference: Array | None = None
) -> RowComparison:
    """Return the first rows in which two arrays differ, in aligned columns.

    `reference` is a third array of the same shape, for two arrays that may both be wrong.
    """
    expected, actual, wrong = _arrays(verdict)
    arrays = (expected, actual) if reference is None else (expected, actual, np.atleast_1d(reference))
    digits = telling_digits(expected, actual, wrong)
    names = axis_names(shape_of_result(operation, verdict.note), expected.ndim)
    columns = _column_axis(expected.shape)
    positions = [index for index in _indices(expected.shape, columns) if wrong[_along(index, columns)].any()]
    rows = []
    for index in positions[:most]:
        line = _along(index, columns)
        cells = [[number(entry, digits) for entry in array[line].ravel()] for array in arrays]
        # Of two results that are both NaN, none is what is expected.
        never = (np.isnan(expected[line]) & np.isnan(actual[line]) & wrong[line]).ravel()
        cells[0] = [_ANY_NUMBER if nan else cell for cell, nan in zip(cells[0], never, strict=True)]
        title = _title(index, expected.shape, columns, names)
        rows.append(_row(title, cells, wrong[line].ravel(), width))
    return RowComparison(tuple(rows), len(positions) - len(rows))


def error_sentence(verdict: Verdict) -> str:
    """Return by how much, and in how many entries, the result is wrong."""
    expected, actual, wrong = _arrays(verdict)
    entries = f"in {int(wrong.sum()):,} of {wrong.size:,} entries" if wrong.size > 1 else ""
    with np.errstate(invalid="ignore"):
        errors = np.abs(actual - expected)[wrong]
    if not np.isfinite(errors).all():
        return f"{_not_finite(expected[wrong], actual[wrong])} {entries}".strip()
    size = number(float(errors.max(initial=0.0)), 3)
    return joined([size, _explained(verdict), entries])


def excess_sentence(verdict: Verdict) -> str:
    """Return what is said of a single entry beside its two numbers."""
    expected, actual, _ = _arrays(verdict)
    finite = np.isfinite(expected).all() and np.isfinite(actual).all()
    return _explained(verdict) if finite else error_sentence(verdict)


def _explained(verdict: Verdict) -> str:
    return times(verdict.excess) if np.isfinite(verdict.excess) else "where no rounding is allowed"


def _arrays(verdict: Verdict) -> tuple[Array, Array, Array]:
    """Return expected, received and wrong entries in one shape."""
    if isinstance(verdict.expected, str) or isinstance(verdict.actual, str) or verdict.wrong is None:
        raise TypeError("a verdict in words has no arrays to compare")
    expected, actual, wrong = np.broadcast_arrays(verdict.expected, verdict.actual, verdict.wrong)
    return np.atleast_1d(expected), np.atleast_1d(actual), np.atleast_1d(wrong)


def _not_finite(expected: Array, actual: Array) -> str:
    for value, test in (("NaN", np.isnan), ("an infinity", np.isinf)):
        if (test(actual) & ~test(expected)).any():
            return f"{value} where a finite number is expected"
        if (test(expected) & ~test(actual)).any():
            return f"something else where {value} is expected"
    if np.isnan(expected).any():
        return "NaN in both results, where both should be numbers"
    return "an infinity of the wrong sign"


def _column_axis(shape: tuple[int, ...]) -> int:
    """Return the axis that runs along a row: the last one longer than one."""
    longer = [axis for axis, size in enumerate(shape) if size > 1]
    return longer[-1] if longer else len(shape) - 1


def _indices(shape: tuple[int, ...], columns: int) -> Iterator[tuple[int, ...]]:
    yield from np.ndindex(*(1 if axis == columns else size for axis, size in enumerate(shape)))


def _along(index: tuple[int, ...], columns: int) -> tuple[int | slice, ...]:
    return (*index[:columns], slice(None), *index[columns + 1 :])


def _title(index: tuple[int, ...], shape: tuple[int, ...], columns: int, names: tuple[str, ...] | None) -> str:
    shown = [axis for axis, size in enumerate(shape) if size > 1 and axis != columns]
    if names is None:
        return f"row {[index[axis] for axis in shown]}" if shown else ""
    parts = [f"{names[axis]} {index[axis]}" for axis in shown]
    if columns != len(shape) - 1 and shape[columns] > 1:
        parts.append(f"by {names[columns]}")
    return ", ".join(parts)


def _row(title: str, cells: list[list[str]], wrong: Array, width: int) -> Row:
    """Return a row with as many columns as fit, beginning just before the first difference."""
    expected, received, *others = cells
    wide = max(len(text) for texts in cells for text in texts)
    fitting = max((width + _COLUMN_GAP) // (wide + _COLUMN_GAP), 1)
    first = 0 if len(expected) <= fitting else min(max(int(wrong.argmax()) - 1, 0), len(expected) - fitting)
    shown = slice(first, first + fitting)
    if len(expected) > fitting:
        part = f"columns {first} to {min(first + fitting, len(expected)) - 1} of {len(expected)}"
        title = f"{title}, {part}" if title else part
    gap = " " * _COLUMN_GAP
    marks = ["^" * len(text) if bad else "" for text, bad in zip(received[shown], wrong[shown], strict=True)]
    texts = [expected[shown], received[shown], marks, *(other[shown] for other in others)]
    lines = [gap.join(text.rjust(wide) for text in line) for line in texts]
    return Row(title, *(line.rstrip() for line in lines))
