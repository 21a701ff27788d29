"""Inputs of operations that return a tuple: its parts are judged as one array, one after the other in one axis."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from math import prod

from veriformer.adapters.results import join
from veriformer.conformance_tests.core.expected import Expected
from veriformer.conformance_tests.core.inputs import Inputs, Shape
from veriformer.conformance_tests.drawing.arrays import Array


class SeveralResults(Inputs):
    """The names and shapes of the parts of such an operation's result."""

    @property
    @abstractmethod
    def parts(self) -> dict[str, Shape]:
        """The name and shape of each array of a correct result, in order."""

    @property
    def result_shapes(self) -> tuple[Shape, ...]:
        """The shapes of the arrays that a correct call returns."""
        return tuple(self.parts.values())

    @property
    def result_shape(self) -> Shape:
        """The shape of all parts joined in one axis."""
        return (sum(prod(shape) for shape in self.result_shapes),)

    def part(self, name: str) -> Callable[[Array], Array]:
        """Return the function that takes one part, in its own shape, out of a joined result."""
        start = 0
        for other, shape in self.parts.items():
            if other == name:
                break
            start += prod(shape)
        else:
            raise KeyError(f"the result has no part {name!r}; it has {', '.join(self.parts)}")
        return lambda joined: joined[start : start + prod(shape)].reshape(shape)

    def joined(self, *parts: Expected) -> Expected:
        """Return the expected result from those of its parts."""
        return Expected(
            join([part.value for part in parts]),
            join([part.allowed for part in parts]),
            join([part.judged for part in parts]),
        )
