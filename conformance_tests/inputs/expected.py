"""What a correct implementation returns, and how far from it rounding may lead."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray
# Any, because the reference takes each convention's values as literal names, which were checked when declared.
Conventions = Mapping[str, Any]


@dataclass(frozen=True)
class Expected:
    """The exact result, the allowed absolute error of each entry, and which entries are judged at all."""

    value: Array
    allowed: Array
    judged: Array

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
