"""The counted cost of a call: findings must not depend on how busy the machine is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

# Counts cannot foresee an implementation whose calls are slow. A search then ends unfinished, and a notice says so.
RUNAWAY_SECONDS = 60.0


def numbers_in(value: object) -> int:
    """Return the number of entries in one or several arguments, records included."""
    if isinstance(value, np.ndarray):
        return value.size
    if isinstance(value, Mapping):
        return sum(map(numbers_in, value.values()))
    if is_dataclass(value) and not isinstance(value, type):
        return sum(numbers_in(getattr(value, member.name)) for member in fields(value))
    if isinstance(value, list | tuple):
        return sum(map(numbers_in, value))
    return 1


def products_in(arguments: Mapping[str, Any]) -> int:
    """Return how many products a call takes, or how many numbers it reads: each query meets each key. B · H · L · S · D
    for attention, B · L · S · E for operations that attend inside.
    """
    query = arguments.get("query", arguments.get("x"))
    key = arguments.get("key", arguments.get("context", arguments.get("memory", query)))
    attends = isinstance(query, np.ndarray) and isinstance(key, np.ndarray) and min(query.ndim, key.ndim) >= 3
    return numbers_in(arguments) + (query.size * key.shape[-2] if attends else 0)
