"""Numbers that tell arrays apart and that no order of their entries, no sign and no constant factor changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array

# Larger arrays are left out, and so are the vectors along an axis of which there are more.
_MOST_NUMBERS, _MOST_VECTORS = 2**22, 4096
_LEAST_DISTINCT, _LOOKED_AT = 3, 4096


def says_something(array: Array) -> bool:
    """Return whether an array is no other's equal by accident: it has several numbers that nobody writes down.

    Masks, counts, zeros and tables of few short numbers are alike in all models.
    """
    if array.dtype.kind != "f" or not _LEAST_DISTINCT <= array.size <= _MOST_NUMBERS:
        return False
    some = np.abs(array.ravel()[:: max(array.size // _LOOKED_AT, 1)])
    some = np.unique(some[np.isfinite(some)])
    return bool((np.round(some * 64) != some * 64).sum() >= _LEAST_DISTINCT)


def fingerprint(array: Array) -> tuple[float, float, float]:
    """Return the largest entry m, Σ |x| / m and Σ x² / m², of the finite entries."""
    sizes = np.abs(array[np.isfinite(array)])
    largest = float(sizes.max(initial=0.0))
    if not largest:
        return 0.0, 0.0, 0.0
    sizes = sizes / largest
    return largest, float(sizes.sum()), float((sizes * sizes).sum())


@dataclass(frozen=True, eq=False)
class Vectors:
    """The vectors along an axis of a value, each as four numbers that no order of its entries changes.

    `telling` says of each whether it is more than a few short numbers.
    """

    value: int
    length: int
    numbers: Array
    telling: Array


def vectors_of(value: int, array: Array) -> Iterator[Vectors]:
    """Yield the vectors along each axis of an array that are long enough to be told from others, and not too many."""
    for axis in range(array.ndim):
        length = array.shape[axis]
        if length < _LEAST_DISTINCT or array.size // length > _MOST_VECTORS:
            continue
        rows = np.moveaxis(array, axis, -1).reshape(-1, length)
        rows = np.where(np.isfinite(rows), rows, 0.0)
        sizes = np.abs(rows)
        numbers = np.stack([sizes.max(1), sizes.sum(1), rows.sum(1), (rows * rows).sum(1)], axis=1)
        short = np.round(rows * 64) == rows * 64
        yield Vectors(value, length, numbers, (~short).sum(1) >= _LEAST_DISTINCT)
