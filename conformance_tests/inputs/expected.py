"""What a correct implementation returns, and how far from it rounding may lead."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np

Array = np.ndarray
# Any, because the reference takes each convention's values as literal names, which were checked when declared.
Conventions = Mapping[str, Any]


class Expected:
    """The exact result, the allowed absolute error of each entry, and which entries are judged at all.

    Where `allowed` is costly it is a function, which is called when it is first asked for. `floor` is then an error
    that costs little to compute and is allowed in any case: nothing else need be known of a result that is within it.
    """

    def __init__(
        self, value: Array, allowed: Array | Callable[[], Array], judged: Array, floor: Array | None = None
    ) -> None:
        self.value = value
        self.judged = judged
        self.floor = floor
        self._allowed = allowed

    @cached_property
    def allowed(self) -> Array:
        """The allowed absolute error of each entry."""
        return self._allowed() if callable(self._allowed) else self._allowed

    @classmethod
    def exact(cls, value: Array) -> Expected:
        """Return an expectation without rounding: masks."""
        return cls(value, np.zeros(value.shape), np.ones(value.shape, dtype=bool))


class NothingHidden(ABC):
    """Inputs of an operation that sees all of them: there is nothing that it may see and should not."""

    @abstractmethod
    def expected(self, conventions: Conventions) -> Expected:
        """Return the exact result under the conventions and its error bound."""

    def loosest_error(self, conventions: Conventions) -> Array:
        """Return the error bound itself: what is wrong cannot make it larger."""
        return self.expected(conventions).allowed
