"""How much a call takes, counted: what is found must not depend on how busy the machine is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

# What no count foresees is an implementation whose calls are slow. Then a search ends unfinished, and that is said.
RUNAWAY_SECONDS = 60.0


def numbers_in(value: object) -> int:
    """Return how many numbers an argument holds, or several do: the entries of arrays, those of records included."""
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
    """Return how many products a call takes, or how many numbers it reads: each query meets each key.

    B · H · L · S · D of attention, B · L · S · E of what attends inside.
    """
    query = arguments.get("query", arguments.get("x"))
    key = arguments.get("key", arguments.get("context", arguments.get("memory", query)))
    attends = isinstance(query, np.ndarray) and isinstance(key, np.ndarray) and min(query.ndim, key.ndim) >= 3
    return numbers_in(arguments) + (query.size * key.shape[-2] if attends else 0)
