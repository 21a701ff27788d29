"""What a document prints: each number with its own characters and the digits that they promise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import sympy

_SUFFIXES = {"%": sympy.Rational(1, 100), "M": sympy.Integer(10**6)}


@dataclass(frozen=True)
class PrintedNumber:
    """One printed value: its characters, what they mean, and one unit of the last printed digit.

    `unit` is None where the characters claim an exact value (an integer, a fraction, a radical, a statement).
    """

    text: str
    value: sympy.Basic
    unit: sympy.Rational | None = None


Printed: TypeAlias = "PrintedNumber | tuple[Printed, ...]"


def number(text: str) -> PrintedNumber:
    """Read one number as a document writes it: 0.330, −2, 1/3, 41%, 25M, −∞ or its LaTeX.

    Raises ValueError when `text` is none of these.
    """
    plain = text.replace("−", "-").replace("\\infty", "∞")
    if plain == "-∞":
        return PrintedNumber(text, -sympy.oo)
    suffix = _SUFFIXES.get(plain[-1:])
    digits = plain[:-1] if suffix is not None else plain
    try:
        value = sympy.Rational(digits)
    except (TypeError, ValueError) as error:
        raise ValueError(f"a printed number was expected, such as 0.330 or 41%; received {text!r}") from error
    places = len(digits.partition(".")[2])
    if not places and suffix is None:
        return PrintedNumber(text, value)
    scale = sympy.Integer(1) if suffix is None else suffix
    return PrintedNumber(text, value * scale, scale / sympy.Integer(10) ** places)


def numbers(text: str) -> tuple[PrintedNumber, ...]:
    """Read a vector: numbers separated by spaces."""
    return tuple(number(word) for word in text.split())


def rows(*texts: str) -> tuple[tuple[PrintedNumber, ...], ...]:
    """Read a matrix: one string of numbers for each row."""
    return tuple(numbers(text) for text in texts)


def claim(text: str, value: sympy.Basic | int | bool) -> PrintedNumber:
    """Return a statement in words or symbols with the exact value that it claims."""
    return PrintedNumber(text, sympy.sympify(value))
