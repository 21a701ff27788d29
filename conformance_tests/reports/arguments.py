"""Arguments of calls: arrays, numbers, and records of weights with lists of layers."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np


def members(value: Any) -> list[tuple[str, Any]]:
    """Return the members of a record, by name."""
    if is_dataclass(value):
        return [(member.name, getattr(value, member.name)) for member in fields(value)]
    return list(vars(value).items())


def same(one: Any, other: Any) -> bool:
    """Return whether two arguments are equal, counting NaN as equal to NaN."""
    if one is other:
        return True
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        alike = one.shape == other.shape and one.dtype == other.dtype
        return alike and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    if type(one) is not type(other):
        return False
    if is_dataclass(one):
        return all(same(part, getattr(other, name)) for name, part in members(one))
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return isinstance(one, bool | int | float | str | np.generic) and bool(one == other)


def number_of_arrays(value: Any) -> int:
    """Return the number of arrays in records and lists."""
    if isinstance(value, np.ndarray):
        return 1
    if isinstance(value, list | tuple):
        return sum(map(number_of_arrays, value))
    return sum(number_of_arrays(part) for _, part in members(value)) if is_dataclass(value) else 0
