"""Functions of each number, recognised by their values: activations and factors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.recognition.agreement import agree

Function = Callable[[Array], Array]
# So many numbers that are moved by the same amount are no accident.
_SEVERAL = 4
CONSTANTS = 2.0**-36
"""The precision of constants that people write into activations, in units as those of a precision."""


def _sigmoid(x: Array) -> Array:
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * x)))


def _erf_in_five_terms(x: Array) -> Array:
    """Return the error function as Abramowitz and Stegun 7.1.26 approximate it, which code without SciPy often has."""
    t = 1.0 / (1.0 + 0.3275911 * np.abs(x))
    terms = (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)
    polynomial = np.polyval((*terms, 0.0), t)
    return np.asarray(np.sign(x) * (1.0 - polynomial * np.exp(-(x**2))))


ACTIVATIONS: Mapping[str, Function] = MappingProxyType(
    {
        "relu": lambda x: np.maximum(x, 0.0),
        "gelu": lambda x: reference.gelu(x, "erf"),
        "gelu_tanh": lambda x: reference.gelu(x, "tanh"),
        "gelu_sigmoid": lambda x: reference.gelu(x, "sigmoid"),
        "gelu_erf_in_five_terms": lambda x: 0.5 * x * (1.0 + _erf_in_five_terms(x / np.sqrt(2.0))),
        "silu": reference.silu,
        "tanh": np.tanh,
        "sigmoid": _sigmoid,
        "relu_squared": lambda x: np.maximum(x, 0.0) ** 2,
        "softplus": lambda x: np.logaddexp(x, 0.0),
        "elu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0.0))),
        "leaky_relu": lambda x: np.where(x > 0, x, 0.01 * x),
        "mish": lambda x: x * np.tanh(np.logaddexp(x, 0.0)),
    }
)


def activation_of(x: Array, y: Array, unit: float) -> str | None:
    """Return the name of the function that gives `y` from `x`, entry by entry; None where it is none that is known."""
    if x.size != y.size or not np.isfinite(x).all():
        return None
    flat, result = x.ravel(), y.ravel()
    # People write the constants of GELU with eight digits.
    unit = max(unit, CONSTANTS)
    # Most candidates are refuted by a few numbers.
    some = slice(0, 64)
    for name, function in ACTIVATIONS.items():
        with np.errstate(all="ignore"):
            if agree(result[some], np.asarray(function(flat[some])), unit) and agree(result, function(flat), unit):
                return name
    return None


def factor_of(x: Array, y: Array, unit: float) -> float | None:
    """Return c where y = c·x for all entries; None where there is no such number, or it is 0 or 1."""
    if x.size != y.size or not np.isfinite(x).all() or not np.isfinite(y).all():
        return None
    flat, result = x.ravel(), y.ravel()
    at = int(np.argmax(np.abs(flat)))
    if flat[at] == 0.0:
        return None
    # Where no such number is near, the trial may overflow.
    with np.errstate(all="ignore"):
        factor = float(result[at] / flat[at])
        fits = factor not in (0.0, 1.0) and agree(result, factor * flat, unit)
    return factor if fits else None


def shift_of(x: Array, y: Array, unit: float) -> float | None:
    """Return c where y = x + c for all entries; None where there is no such number, or it is 0."""
    if x.size != y.size or x.size < _SEVERAL or not np.isfinite(x).all() or not np.isfinite(y).all():
        return None
    flat, result = x.ravel(), y.ravel()
    with np.errstate(all="ignore"):
        amount = float(np.median(result - flat))
        return amount if amount and agree(result, flat + amount, unit) else None


def limits_of(x: Array, y: Array) -> tuple[float | None, float | None] | None:
    """Return the limits, low and high, where y is x cut off at them; None where it is not, or nothing is cut off.

    A limit that no entry exceeds is None.
    """
    if x.size != y.size or not np.isfinite(x).all() or not np.isfinite(y).all():
        return None
    flat, result = x.ravel(), y.ravel()
    raised, lowered = np.unique(result[result > flat]), np.unique(result[result < flat])
    if (not raised.size and not lowered.size) or raised.size > 1 or lowered.size > 1:
        return None
    low = float(raised[0]) if raised.size else None
    high = float(lowered[0]) if lowered.size else None
    return (low, high) if np.array_equal(result, np.clip(flat, low, high)) else None
