"""Numbers for a reader: as many digits as show the differences, and no more."""

from __future__ import annotations

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array

_FEWEST_DIGITS = 4
_MOST_DIGITS = 17
# Where almost no error is allowed, the multiple has no meaning.
_BEYOND_COMPARISON = 1e12


def number(value: float, digits: int = _FEWEST_DIGITS) -> str:
    """Return a number with at most `digits` significant digits; "nan", "inf" and "-inf" as they are."""
    text = f"{value:.{digits}g}"
    mantissa, exponent_mark, exponent = text.partition("e")
    return f"{mantissa}e{int(exponent)}" if exponent_mark else "0" if text == "-0" else text


def truth(value: bool) -> str:
    """Return T or F: a mask is read at a glance."""
    return "T" if value else "F"


def cell(value: float | bool, digits: int = _FEWEST_DIGITS) -> str:
    """Return an entry of an array."""
    return truth(bool(value)) if isinstance(value, bool | np.bool_) else number(float(value), digits)


def telling_digits(expected: Array, actual: Array, wrong: Array) -> int:
    """Return the number of digits that shows the difference in every wrong entry."""
    pairs = list(zip(expected[wrong].ravel().tolist(), actual[wrong].ravel().tolist(), strict=True))
    for digits in range(_FEWEST_DIGITS, _MOST_DIGITS):
        if all(number(one, digits) != number(other, digits) for one, other in pairs):
            return digits
    return _MOST_DIGITS


def times(excess: float) -> str:
    """Return by how much an error exceeds what was allowed, in words: "3.1e5 times what rounding explains"."""
    if excess > _BEYOND_COMPARISON:
        return "more than any rounding explains"
    return f"{number(excess, 2 if excess < 10 or excess >= 1e4 else 3)} times what rounding explains"
