"""The number systems in which an expression can be evaluated: floats, floats with a derivative, and intervals."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath


@dataclass(frozen=True)
class Dual:
    """a + b·ε with ε² = 0: a value and its derivative along one direction."""

    value: float
    slope: float

    def __add__(self, other: Any) -> Dual:
        other = as_dual(other)
        return Dual(self.value + other.value, self.slope + other.slope)

    def __mul__(self, other: Any) -> Dual:
        other = as_dual(other)
        return Dual(self.value * other.value, self.value * other.slope + self.slope * other.value)

    def __pow__(self, exponent: Any) -> Dual:
        power = float(exponent)
        return Dual(self.value**power, power * self.value ** (power - 1) * self.slope if power else 0.0)

    __radd__ = __add__
    __rmul__ = __mul__


def as_dual(number: Any) -> Dual:
    """A number with derivative 0; a dual number unchanged."""
    return number if isinstance(number, Dual) else Dual(float(number), 0.0)


@dataclass(frozen=True)
class Arithmetic:
    """How to make a number from a fraction, raise a power, and apply the elementary functions; and π."""

    fraction: Callable[[int, int], Any]
    power: Callable[[Any, Any], Any]
    functions: dict[str, Callable[[Any], Any]]
    pi: Any


def _lifted(function: Callable[[float], float], derivative: Callable[[float], float]) -> Callable[[Any], Any]:
    def apply(number: Any) -> Any:
        if isinstance(number, Dual):
            return Dual(function(number.value), derivative(number.value) * number.slope)
        return function(number)

    return apply


def _float_power(base: Any, exponent: Any) -> Any:
    return base**exponent if isinstance(base, Dual) else float(base) ** float(exponent)


def _interval_power(base: Any, exponent: Any) -> Any:
    whole = isinstance(exponent, int)
    return mpmath.iv.mpf(base) ** (exponent if whole else mpmath.iv.mpf(exponent))


FLOATS = Arithmetic(
    fraction=lambda numerator, denominator: numerator if denominator == 1 else numerator / denominator,
    power=_float_power,
    functions={
        "exp": _lifted(math.exp, math.exp),
        "log": _lifted(math.log, lambda x: 1 / x),
        "sin": _lifted(math.sin, math.cos),
        "cos": _lifted(math.cos, lambda x: -math.sin(x)),
        "erf": _lifted(math.erf, lambda x: 2 / math.sqrt(math.pi) * math.exp(-x * x)),
    },
    pi=math.pi,
)

INTERVALS = Arithmetic(
    fraction=lambda numerator, denominator: numerator if denominator == 1 else mpmath.iv.mpf(numerator) / denominator,
    power=_interval_power,
    functions={
        "exp": mpmath.iv.exp,
        "log": mpmath.iv.log,
        "sin": mpmath.iv.sin,
        "cos": mpmath.iv.cos,
    },
    pi=mpmath.iv.pi,
)
