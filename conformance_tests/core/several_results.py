"""Inputs of operations that return a tuple: its parts are judged as one array, one after the other in one axis."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from itertools import accumulate
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
        every = self.each_part()
        if name not in every:
            raise KeyError(f"the result has no part {name!r}; it has {', '.join(every)}")
        return every[name]

    def each_part(self) -> dict[str, Callable[[Array], Array]]:
        """Return these functions for all parts, by name."""
        shapes = self.parts
        ends = list(accumulate(map(prod, shapes.values())))
        places = zip(shapes.items(), (0, *ends), ends, strict=False)
        return {name: _taking(slice(start, end), shape) for (name, shape), start, end in places}

    def joined(self, *parts: Expected) -> Expected:
        """Return the expected result from those of its parts."""
        return Expected(
            join([part.value for part in parts]),
            join([part.allowed for part in parts]),
            join([part.judged for part in parts]),
        )


def _taking(place: slice, shape: Shape) -> Callable[[Array], Array]:
    return lambda joined: joined[place].reshape(shape)
