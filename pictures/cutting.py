"""The part of a large array that a person can look at, with the wrong entries in view."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

MOST = 12


@dataclass(frozen=True, eq=False)
class Shown:
    """A matrix out of an array: its entries at `rows` and `columns`, which of them are wrong, and what was left out.

    `place` says which matrix of several it is, such as "[0, 1]".
    """

    matrix: Array
    wrong: Array | None
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    place: str
    note: str
    is_cut: bool


def cut(array: Array, wrong: Array | None = None, most: int = MOST) -> Shown:
    """Return at most `most` rows and columns of one matrix of an array."""
    import numpy as np

    if not array.size:
        return Shown(np.zeros((0, 0)), None, (), (), "", f"no entries: {' × '.join(map(str, array.shape))}", False)
    bad = None if wrong is None else np.broadcast_to(np.asarray(wrong, dtype=bool), array.shape)
    index = _first_matrix(array.shape, bad)
    matrix = np.atleast_2d(array[index])
    bad_here = None if bad is None else np.atleast_2d(bad[index])
    rows, columns = (
        _kept(length, [] if bad_here is None else np.flatnonzero(bad_here.any(axis=1 - axis)).tolist(), most)
        for axis, length in enumerate(matrix.shape)
    )
    here = np.ix_(rows, columns)
    part = None if bad_here is None else bad_here[here]
    place = str(list(index)) if any(size > 1 for size in array.shape[:-2]) else ""
    is_cut = (len(rows), len(columns)) != matrix.shape
    note = _left_out(array, matrix, (len(rows), len(columns)), bad, part)
    return Shown(matrix[here], part, rows, columns, place, note, is_cut)


def _first_matrix(shape: tuple[int, ...], wrong: Array | None) -> tuple[int, ...]:
    import numpy as np

    outer = len(shape) - 2
    if outer <= 0:
        return ()
    if wrong is None or not wrong.any():
        return (0,) * outer
    return tuple(int(axis) for axis in np.argwhere(wrong)[0][:outer])


def _kept(length: int, wanted: Sequence[int], most: int) -> tuple[int, ...]:
    """Return which indices to show: all where they are few, else the first wrong ones, the start and the end."""
    if length <= most:
        return tuple(range(length))
    kept = list(dict.fromkeys([*wanted[: most - 2], 0, length - 1]))[:most]
    neighbours = [near for index in wanted[:1] for near in (index - 1, index + 1)]
    for index in (*neighbours, *range(length)):
        if len(kept) >= most:
            break
        if 0 <= index < length and index not in kept:
            kept.append(index)
    return tuple(sorted(kept))


def _left_out(
    array: Array, matrix: Array, shown: tuple[int, int], wrong: Array | None, wrong_shown: Array | None
) -> str:
    parts = []
    if matrix.shape != shown:
        rows, columns = (total - kept for total, kept in zip(matrix.shape, shown, strict=True))
        names = [f"{count:,} {name}" for count, name in ((rows, "rows"), (columns, "columns")) if count]
        parts.append(f"{' and '.join(names)} of {' × '.join(f'{size:,}' for size in matrix.shape)} left out")
    others = array.size // max(matrix.size, 1) - 1
    if others > 0:
        parts.append(f"{others:,} more {'matrix' if others == 1 else 'matrices'} not shown")
    hidden = 0 if wrong is None or wrong_shown is None else int(wrong.sum()) - int(wrong_shown.sum())
    if hidden:
        parts.append(f"{hidden:,} more wrong")
    return "; ".join(parts)
