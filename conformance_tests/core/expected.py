"""The exact result of a correct implementation, and its error bound."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, cached_property
from typing import Any

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array

# Any, because the reference takes each convention's values as literal names, which were checked when declared.
Conventions = Mapping[str, Any]


class Expected:
    """The exact result, the allowed absolute error of each entry, and the entries that are judged.

    A costly `allowed` is a function, called when it is first needed. `floors` are then errors that are allowed in any
    case, the cheapest first: a result within one of them needs no further bound.
    """

    def __init__(
        self,
        value: Array,
        allowed: Array | Callable[[], Array],
        judged: Array,
        floors: tuple[Callable[[], Array], ...] = (),
    ) -> None:
        self.value = value
        self.judged = judged
        self.floors = tuple(cache(floor) for floor in floors)
        self._allowed = allowed

    @cached_property
    def allowed(self) -> Array:
        """The allowed absolute error of each entry."""
        return self._allowed() if callable(self._allowed) else self._allowed

    def floor(self, level: int) -> Array:
        """Return the floor at a level, the cheapest at 0; beyond the last, the whole allowed error."""
        return self.floors[level]() if level < len(self.floors) else self.allowed

    @classmethod
    def exact(cls, value: Array) -> Expected:
        """Return an expectation without rounding: masks."""
        return cls(value, np.zeros(value.shape), np.ones(value.shape, dtype=bool))
