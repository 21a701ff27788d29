"""Numbers for a reader: exact where they are small fractions, else as many digits as are asked for."""

from __future__ import annotations

import math
from fractions import Fraction

FEWEST_DIGITS = 4
MOST_DIGITS = 17
_LARGEST_DENOMINATOR = 12
_EXACT_WITHIN = 1e-9
_LARGEST_FRACTION = 100


def number(value: float, digits: int = FEWEST_DIGITS) -> str:
    """Return a number with at most `digits` significant digits, such as "3e-8"; what is not finite in words."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "infinity" if value > 0 else "-infinity"
    text = f"{value:.{digits}g}"
    mantissa, exponent_mark, exponent = text.partition("e")
    return f"{mantissa}e{int(exponent)}" if exponent_mark else "0" if text == "-0" else text


def exact(value: float, digits: int = FEWEST_DIGITS) -> str:
    """Return a small fraction as one, such as "1/3", and any other number with `digits` digits."""
    if not math.isfinite(value) or abs(value) > _LARGEST_FRACTION or abs(value) < _EXACT_WITHIN:
        return number(value, digits)
    fraction = Fraction(value).limit_denominator(_LARGEST_DENOMINATOR)
    within = abs(float(fraction) - value) <= _EXACT_WITHIN
    return str(fraction) if within and fraction else number(value, digits)


def power_of_ten(exponent: int) -> str:
    """Return a power of ten as a scale is labelled: "0.01", "1", "1e-8"."""
    return f"1e{exponent}" if abs(exponent) > 3 else f"{10.0**exponent:g}"
