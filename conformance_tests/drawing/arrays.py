"""The arrays that cases, calls and verdicts are made of: NumPy's, of any shape and dtype."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

__all__ = ["Array", "present"]

Array: TypeAlias = np.ndarray


def present(array: Array | None) -> Array:
    """Return an array that the cases of a law always have; TypeError where it is missing."""
    if array is None:
        raise TypeError("an array is missing that this law's cases always have")
    return array
