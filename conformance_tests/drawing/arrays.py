"""The arrays that cases, calls and verdicts are made of: NumPy's, of any shape and dtype."""

from __future__ import annotations

from typing import TypeAlias, TypeVar

import numpy as np

__all__ = ["Array", "present"]

Array: TypeAlias = np.ndarray
T = TypeVar("T")


def present(argument: T | None) -> T:
    """Return an optional argument that the cases of a law always have; TypeError where it is missing."""
    if argument is None:
        raise TypeError("an argument is missing that this law's cases always have")
    return argument
