"""What a correct implementation returns, and how far from it rounding may lead."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, cached_property
from typing import Any

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array

# Any, because the reference takes each convention's values as literal names, which were checked when declared.
Conventions = Mapping[str, Any]


class Expected:
    """The exact result, the allowed absolute error of each entry, and which entries are judged at all.

    Where `allowed` is costly it is a function, which is called when it is first asked for. `floors` are then errors
    that are allowed in any case, the cheapest first: nothing else need be known of a result that is within one.
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
        """Return the floor at a level, the cheapest at 0; all that is allowed beyond the last."""
        return self.floors[level]() if level < len(self.floors) else self.allowed

    @classmethod
    def exact(cls, value: Array) -> Expected:
        """Return an expectation without rounding: masks."""
        return cls(value, np.zeros(value.shape), np.ones(value.shape, dtype=bool))
