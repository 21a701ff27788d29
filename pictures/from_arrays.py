"""From arrays to pictures: masks, values, weights, positions.

mask(...), masks(...)             who sees whom, and that beside what was expected
values(...), compared(...)        numbers, and expected, got and difference side by side
weights(...)                      numbers whose share is shaded
turned(...), inner_products(...)  positions as clocks, and how far each two of them agree

Arrays of more than two axes are shown as one matrix: the first with a wrong entry, else the first of all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from veriformer.pictures.cutting import Shown, cut
from veriformer.pictures.model import Cell, Clocks, Grid, Mark, Row
from veriformer.pictures.numbers import FEWEST_DIGITS, MOST_DIGITS, exact, number

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

_SEES, _DOES_NOT = "●", "·"


def mask(title: str, visible: Array, wrong: Array | None = None, axes: tuple[str, str] = ("query", "key")) -> Grid:
    """Return who sees whom: True in row i and column j says that query i sees key j."""
    import numpy as np

    visible = np.asarray(visible, dtype=bool)
    shown = cut(visible, wrong)
    matrix, bad = shown.matrix, shown.wrong
    cells = [
        [_seen(bool(matrix[i, j]), bad is not None and bool(bad[i, j])) for j in range(matrix.shape[1])]
        for i in range(matrix.shape[0])
    ]
    return _grid(title, cells, shown, axes)


def masks(title: str, expected: Array, got: Array, axes: tuple[str, str] = ("query", "key")) -> Row:
    """Return who should see whom beside who does, each cell that differs marked."""
    import numpy as np

    expected, got = np.broadcast_arrays(np.asarray(expected, dtype=bool), np.asarray(got, dtype=bool))
    wrong = expected != got
    return Row(title, (_unmarked(mask("expected", expected, wrong, axes)), mask("got", got, wrong, axes)))


def values(title: str, array: Array, wrong: Array | None = None, axes: tuple[str, str] = ("", "")) -> Grid:
    """Return numbers, small fractions exactly, with those that are wrong marked."""
    return _values(title, array, wrong, axes, FEWEST_DIGITS)


def compared(
    title: str, expected: Array, got: Array, wrong: Array | None = None, axes: tuple[str, str] = ("", "")
) -> Row:
    """Return expected, got and difference; without `wrong`, what differs at all is wrong.

    As many digits are shown as tell the wrong numbers from the expected ones.
    """
    import numpy as np

    expected, got = np.broadcast_arrays(np.asarray(expected, dtype=float), np.asarray(got, dtype=float))
    same = (expected == got) | (np.isnan(expected) & np.isnan(got))
    wrong = ~same if wrong is None else np.broadcast_to(np.asarray(wrong, dtype=bool), expected.shape)
    with np.errstate(invalid="ignore", over="ignore"):
        difference = np.where(same, 0.0, got - expected)
    digits = _telling_digits(cut(expected, wrong), cut(got, wrong))
    unmarked = _unmarked(_values("expected", expected, wrong, axes, digits))
    return Row(
        title,
        (
            unmarked,
            _values("got", got, wrong, axes, digits),
            _values("difference", difference, wrong, axes, FEWEST_DIGITS),
        ),
    )


def weights(title: str, array: Array, wrong: Array | None = None, axes: tuple[str, str] = ("query", "key")) -> Grid:
    """Return numbers from 0 to 1, the larger ones darker."""
    import numpy as np

    shown = cut(np.asarray(array, dtype=float), wrong)
    cells = [
        [replace(_value(float(entry), bad, FEWEST_DIGITS), share=_share(float(entry))) for entry, bad in row]
        for row in _with_wrong(shown)
    ]
    return _grid(title, cells, shown, axes)


def turned(title: str, positions: Sequence[float], frequencies: Sequence[float], most: int = 12) -> Clocks:
    """Return a clock for each position and frequency, its hand at their product in radians."""
    shown = list(positions)[:most]
    pairs = list(frequencies)[:most]
    return Clocks(
        title,
        tuple(tuple(float(position * frequency) for frequency in pairs) for position in shown),
        tuple(f"position {number(float(position))}" for position in shown),
        tuple(f"pair {pair}" for pair in range(len(pairs))),
    )


def inner_products(title: str, vectors: Array, axes: tuple[str, str] = ("position", "position")) -> Grid:
    """Return the inner product of each two rows, the larger ones darker."""
    import numpy as np

    rows = np.atleast_2d(np.asarray(vectors, dtype=float))
    products = rows @ rows.T
    largest = float(np.max(np.abs(products), initial=0.0)) or 1.0
    shown = cut(products)
    cells = [
        [Cell(exact(float(entry), 3), share=_share(float(entry) / largest)) for entry, _ in row]
        for row in _with_wrong(shown)
    ]
    return _grid(title, cells, shown, axes)


def _values(title: str, array: Array, wrong: Array | None, axes: tuple[str, str], digits: int) -> Grid:
    import numpy as np

    array = np.asarray(array)
    if array.dtype == bool:
        return mask(title, array, wrong, axes)
    shown = cut(array.astype(float), wrong)
    cells = [[_value(float(entry), bad, digits) for entry, bad in row] for row in _with_wrong(shown)]
    return _grid(title, cells, shown, axes)


def _with_wrong(shown: Shown) -> list[list[tuple[float, bool]]]:
    rows, columns = shown.matrix.shape
    return [
        [(shown.matrix[i, j], shown.wrong is not None and bool(shown.wrong[i, j])) for j in range(columns)]
        for i in range(rows)
    ]


def _grid(title: str, cells: list[list[Cell]], shown: Shown, axes: tuple[str, str]) -> Grid:
    """Return a grid with a row and a column of dots wherever some were left out."""
    rows, row_labels = _with_gaps([tuple(row) for row in cells], shown.rows)
    width = len(cells[0]) if cells else 0
    gaps = tuple(Cell("…", "omitted") for _ in range(width))
    filled = [row if row is not None else gaps for row in rows]
    across = [_with_gaps(list(row), shown.columns) for row in filled]
    dots = Cell("…", "omitted")
    labels = across[0][1] if across else ()
    # A matrix of one row or column needs no number for it.
    is_counted = any(axes) or shown.is_cut
    return Grid(
        title if not shown.place else f"{title}, {shown.place}" if title else shown.place,
        tuple(tuple(cell if cell is not None else dots for cell in row) for row, _ in across),
        axes[0],
        axes[1],
        row_labels if is_counted else (),
        labels if is_counted else (),
        shown.note,
    )


def _with_gaps(items: list[Any], indices: Sequence[int]) -> tuple[list[Any], tuple[str, ...]]:
    """Return the items with None where indices are missing between them, and a label for each."""
    kept: list[Any] = []
    labels: list[str] = []
    for place, (item, index) in enumerate(zip(items, indices, strict=True)):
        if index > (indices[place - 1] + 1 if place else 0):
            kept.append(None)
            labels.append("…")
        kept.append(item)
        labels.append(str(index))
    return kept, tuple(labels)


def _unmarked(grid: Grid) -> Grid:
    signs: dict[str, Mark] = {_SEES: "visible", _DOES_NOT: "hidden"}
    cells = tuple(
        tuple(replace(cell, mark=signs.get(cell.text, "plain")) if cell.mark == "wrong" else cell for cell in row)
        for row in grid.cells
    )
    return replace(grid, cells=cells)


def _seen(visible: bool, wrong: bool) -> Cell:
    return Cell(_SEES if visible else _DOES_NOT, "wrong" if wrong else "visible" if visible else "hidden")


def _value(value: float, wrong: bool, digits: int) -> Cell:
    return Cell(exact(value, digits), "wrong" if wrong else "plain")


def _share(value: float) -> float:
    return min(max(value, 0.0), 1.0) if math.isfinite(value) else 0.0


def _telling_digits(expected: Shown, got: Shown) -> int:
    if expected.wrong is None:
        return FEWEST_DIGITS
    pairs = list(zip(expected.matrix[expected.wrong].tolist(), got.matrix[expected.wrong].tolist(), strict=True))
    for digits in range(FEWEST_DIGITS, MOST_DIGITS):
        if all(exact(one, digits) != exact(other, digits) for one, other in pairs if one != other):
            return digits
    return MOST_DIGITS
