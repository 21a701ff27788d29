"""Numbers that were rounded to single precision, such as 1 / √d, as they were before."""

from __future__ import annotations

import math

import numpy as np
from veriformer.adapters.capture.weights import Array

# An array of constants with more entries is a table, and not written by hand.
_FEW = 16
_DIGITS = 5
_LARGEST = 65536


def in_double(array: Array) -> tuple[Array, bool]:
    """Return a constant in float64, and whether it is as good as if it had been written in float64.

    A float32 number becomes what rounds to it and has at most five digits (0.044715), or is the root of a whole number
    or of its inverse (1 / √d), or that divided by √π (the factor of gelu). What is added to a variance (1e-5) or to a
    masked score is too small or too large for its digits to matter, and what has few binary digits (0.375) has no more.
    """
    wide = np.asarray(array).astype(np.float64)
    # A number in half precision has few digits whatever it was.
    digits = 12 if array.dtype.itemsize >= 4 else 5
    if wide.size > _FEW or array.dtype != np.float32:
        return wide, _is_short(wide, digits)
    found = [_as_written(number) for number in wide.flat]
    exact = np.array([number if better is None else better for number, better in zip(wide.flat, found, strict=True)])
    unknown = np.array([number for number, better in zip(wide.flat, found, strict=True) if better is None])
    return exact.reshape(wide.shape), _is_short(unknown, digits)


def _as_written(number: float) -> float | None:
    """Return the number that was rounded, None where nothing tells."""
    if not math.isfinite(number) or number == 0 or not 1e-12 < abs(number) < 1e12:
        return None
    decimal = float(f"{number:.{_DIGITS - 1}e}")
    if np.float32(decimal) == np.float32(number):
        return decimal
    for unit in (1.0, math.pi):
        square = number * number * unit
        for inverse in (False, True):
            whole = round(1 / square if inverse else square)
            if 1 <= whole <= _LARGEST:
                root = math.copysign(math.sqrt((1 / whole if inverse else whole) / unit), number)
                if np.float32(root) == np.float32(number):
                    return root
    return None


def _is_short(values: Array, most: int) -> bool:
    """Return whether numbers that matter in a model have at most so many binary digits."""
    sizes = np.abs(values)
    sizes = sizes[(sizes > 1e-4) & (sizes < 1e4)]
    digits = np.frexp(sizes)[0] * 2**most
    return bool((digits == digits.round()).all())
