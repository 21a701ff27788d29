"""What was asked to find a convention and what came back, in words short enough to be read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array

_SMALL_MASK = 24
# Larger than every entry of a result, so that NaN differs most from numbers.
_FAR = 1e30


@dataclass(frozen=True)
class Evidence:
    """One question, what came back, and which values of the convention would have given that.

    `arguments` and `result` are the numbers themselves; the result is None where the call raised or is not compared.
    """

    asked: str
    came: str
    fits: tuple[str, ...]
    excludes: tuple[str, ...]
    arguments: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    result: Array | None = field(default=None, repr=False, compare=False)


def asked_words(arguments: Mapping[str, Any]) -> str:
    """Return the arguments of a call: of arrays the shapes, of small masks the entries, of the rest the values."""
    return ", ".join(f"{name}{_argument(value)}" for name, value in arguments.items())


def keys_words(seen: Array) -> str:
    """Return which keys the answer of each query depends on, from a boolean (L, S)."""
    rows = [f"query {row} reads {_keys(np.flatnonzero(keys))}" for row, keys in enumerate(seen)]
    return "; ".join(rows)


def entry_words(output: Array, expected: Mapping[str, Array], judged: Array) -> str:
    """Return the entry in which the values of a convention differ most, with what each of them gives."""
    floats = [np.asarray(value, dtype=np.float64) for value in expected.values()]
    comparable = np.stack([np.nan_to_num(value, nan=_FAR, posinf=_FAR, neginf=-_FAR) for value in floats])
    ordered = np.sort(comparable, axis=0)
    # The smallest gap between two values, if in some entry all differ; else the largest.
    nearest = np.diff(ordered, axis=0).min(axis=0, initial=_FAR)
    gaps = nearest if (judged & (nearest > 0)).any() else ordered[-1] - ordered[0]
    spread = np.where(judged, gaps, -1.0)
    place = tuple(int(index) for index in np.unravel_index(int(spread.argmax()), spread.shape))
    given = ", ".join(f"{name} gives {value[place]:.6g}" for name, value in expected.items())
    return f"entry {list(place)} is {output[place]:.6g}; {given}"


def difference_words(output: Array, expected: Array, judged: Array) -> str:
    """Return by how much an answer differs from the formula at most."""
    with np.errstate(invalid="ignore"):
        difference = np.where(judged, np.abs(np.asarray(output, dtype=np.float64) - expected), 0.0)
    largest = float(difference.max(initial=0.0))
    return f"differs from the formula by {largest:.2g} at most"


def _argument(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f" {_mask(value)}" if value.dtype == bool and value.size <= _SMALL_MASK else f" {value.shape}"
    if isinstance(value, bool | int | float | str | tuple | np.number):
        return f" {value}"
    return ""


def _mask(mask: Array) -> str:
    rows = ["".join("1" if entry else "0" for entry in row) for row in mask.reshape(-1, mask.shape[-1])]
    return f"{mask.shape} {'/'.join(rows)}"


def _keys(keys: Array) -> str:
    if keys.size == 0:
        return "no key"
    first, last = int(keys[0]), int(keys[-1])
    if first == last:
        return f"key {first}"
    if last - first + 1 == keys.size:
        return f"keys {first}–{last}"
    return "keys " + ", ".join(str(int(key)) for key in keys)
