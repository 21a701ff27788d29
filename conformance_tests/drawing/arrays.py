"""The arrays that cases, calls and verdicts are made of: NumPy's, of any shape and dtype."""

from __future__ import annotations

from typing import TypeAlias, TypeVar

import numpy as np

__all__ = ["Array", "present", "shared_axes"]

Array: TypeAlias = np.ndarray
T = TypeVar("T")


def present(argument: T | None) -> T:
    """Return an optional argument that the cases of a law always have; TypeError where it is missing."""
    if argument is None:
        raise TypeError("an argument is missing that this law's cases always have")
    return argument


def shared_axes(shape: tuple[int, ...], rank: int) -> tuple[int, ...]:
    """Return the axes of arrays of a rank that one of this shape is broadcast along: it lacks them or has them once."""
    lengths = (1,) * (rank - len(shape)) + shape
    return tuple(axis for axis, length in enumerate(lengths) if length == 1)
