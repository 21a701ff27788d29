"""Arrays filled from a seed: the value regimes, rounded to what the tested dtype can hold."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.case import BatchableCase, Palette
from veriformer.conformance_tests.drawing.regimes import samples_of

_EXACT = ("bits", "integers")
_MANTISSA_BITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
_LARGEST_SINGLE = float(np.finfo(np.float32).max)
_SMALLEST_EXPONENT = {"float16": -14, "bfloat16": -126, "float32": -126, "float64": -1022}


def round_to_dtype(values: Array, dtype: str) -> Array:
    """Return float64 values rounded to nearest-even in `dtype`, so that converting them loses nothing.

    NumPy has no bfloat16: the rounding is done on mantissas, where a conversion does not do it faster.
    """
    if dtype == "float64":
        return values
    if dtype == "float32" and _stays_finite(values):
        return values.astype(np.float32).astype(np.float64)
    mantissa, exponent = np.frexp(values)
    digits = _MANTISSA_BITS[dtype] - np.maximum(_SMALLEST_EXPONENT[dtype] - (exponent - 1), 0)
    rounded: Array = np.ldexp(np.rint(np.ldexp(mantissa, digits)), exponent - digits)
    return np.where(np.isfinite(values), rounded, values)


def _stays_finite(values: Array) -> bool:
    """Return whether no value leaves the range of float32, beyond which a conversion gives infinity."""
    return bool(max(values.max(initial=0.0), -values.min(initial=0.0)) <= _LARGEST_SINGLE)


def smallest_normal(dtype: str) -> float:
    """Return the smallest positive number that a dtype holds with all digits."""
    return float(2.0 ** _SMALLEST_EXPONENT[dtype])


def fill(generator: np.random.Generator, shape: tuple[int, ...], palette: Palette, amplitude: int = 1) -> Array:
    """Return an array of the given regime.

    `bits` and `integers` are for readable counterexamples; `offset` has a mean far from zero, so that
    errors do not average out; `repeated` has equal rows, so that rounding errors add up instead of cancelling.
    """
    if palette == "bits":
        values = _integers(generator, 0, 2, shape)
    elif palette == "integers":
        values = _integers(generator, -3, 4, shape)
    elif palette == "offset":
        values = generator.normal(3.0, 0.5, shape)
    elif palette == "repeated":
        values = np.broadcast_to(generator.normal(size=(*shape[:-2], 1, shape[-1])), shape).copy()
    else:
        values = generator.normal(size=shape)
    return values if amplitude == 1 else values * amplitude


def _integers(generator: np.random.Generator, low: int, high: int, shape: tuple[int, ...]) -> Array:
    # Of a number of entries, not of a shape: that takes a third less time.
    return generator.integers(low, high, math.prod(shape)).astype(np.float64).reshape(shape)


def filled(
    generator: np.random.Generator, case: BatchableCase, shape: tuple[int, ...], *, amplified: bool = True
) -> Array:
    """Return an array of a case's values, with the batch as its first axis, rounded to its dtype.

    Without `amplified` its values are those of the palette alone.
    """
    if not case.regimes:
        return round_to_dtype(fill(generator, shape, case.palette, case.amplitude if amplified else 1), case.dtype)
    values, palettes = np.empty(shape), tuple(regime.palette for regime in case.regimes)
    for palette in dict.fromkeys(palettes):
        samples = samples_of(len(values), palettes, palette)
        values[samples] = fill(generator, (len(samples), *shape[1:]), palette)
    if amplified:
        each = np.array([regime.amplitude for regime in case.regimes])
        amplitudes = each[np.arange(len(values)) % len(each)]
        values *= amplitudes.reshape(-1, *(1 for _ in shape[1:]))
    return round_to_dtype(values, case.dtype)


def is_exact(case: BatchableCase) -> bool:
    """Return whether all samples are filled with small integers, so that weights may be integers too."""
    return all(palette in _EXACT for palette in (case.palette, *(regime.palette for regime in case.regimes)))


def positive_fill(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Return small positive integers, for parameters that must not be trivial."""
    return _integers(generator, 1, 4, shape)


def stored(value: Any, dtype: str) -> Any:
    """Return a list of numbers, or several in one, as an array of values that a dtype holds; all else as it is.

    A list of arrays stays a list.
    """
    if isinstance(value, Mapping):
        return {name: stored(item, dtype) for name, item in value.items()}
    if not isinstance(value, list | tuple) or any(isinstance(item, np.ndarray) for item in value):
        return value
    array = np.asarray(value)
    return round_to_dtype(array, dtype) if array.dtype.kind == "f" else array
