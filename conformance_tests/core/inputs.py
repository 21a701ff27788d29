"""The inputs of a call: a record of its arguments, with the exact result and its error bound."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

from veriformer.adapters.sequences import Step
from veriformer.conformance_tests.core.expected import Conventions, Expected
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.values import round_to_dtype

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Shape = tuple[int, ...]
_APART = ("operation", "dtype", "drawn")


@cache
def _names_of(kind: type[Inputs]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(cast("type[DataclassInstance]", kind)) if field.name not in _APART)


class Inputs(ABC):
    """The arguments of a call: a dataclass with the interface's names.

    Each class for a kind of operation also has `draw(operation, case)`, which returns the inputs of a case.
    """

    # The calls of a chain; none if the inputs are those of one call.
    steps: tuple[Step, ...] = ()
    # What a random operation drew in a call, where its result has shown it: see `as_drawn`. It is no argument.
    drawn: Array | None = None

    if TYPE_CHECKING:

        @property
        def operation(self) -> str:
            """The operation's name."""

        @property
        def dtype(self) -> str:
            """The dtype that floats are converted to."""

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of the call, by the interface's names: the members that are not None."""
        members = ((name, getattr(self, name)) for name in _names_of(type(self)))
        return {name: value for name, value in members if value is not None}

    @property
    @abstractmethod
    def result_shape(self) -> Shape:
        """The shape of a correct result; for a tuple, that of its parts joined in one axis."""

    @property
    def result_shapes(self) -> tuple[Shape, ...]:
        """The shapes of the arrays that a correct call returns: one, or those of a tuple's parts."""
        return (self.result_shape,)

    @abstractmethod
    def expected(self, conventions: Conventions) -> Expected:
        """Return the exact result under the conventions and its error bound.

        Of a random operation it is the result for the numbers in `drawn`, or without them for the reference's own.
        """

    def as_drawn(self, result: Array) -> Self:
        """Return the inputs with the random numbers of the call that gave a result, as far as the result shows them.

        What is expected of these is exact. Inputs of an operation that is not random are returned unchanged.
        """
        return self

    def loosest_error(self, conventions: Conventions) -> Array:
        """Return the error bound of an implementation that may see more than it should: see `Trial.equal`. If nothing
        is hidden, this is the error bound itself.
        """
        return self.expected(conventions).allowed


class SampledInputs(Inputs):
    """Inputs of several samples, each a case of its own unless the result adds them up: `adds_samples`."""

    adds_samples: ClassVar[bool] = False

    @abstractmethod
    def take_samples(self, index: Array) -> Self:
        """Return the samples at `index`."""


@dataclass(frozen=True, eq=False)
class VectorInputs(SampledInputs):
    """Inputs whose result has the shape of their argument `x`, samples first."""

    if TYPE_CHECKING:

        @property
        def x(self) -> Array:
            """The argument of the operation."""

    @property
    def result_shape(self) -> Shape:
        return self.x.shape

    def take_samples(self, index: Array) -> Self:
        return self.with_x(self.x[index])

    def with_x(self, x: Array) -> Self:
        """Return inputs with another `x`, rounded to the dtype."""
        changed: dict[str, Any] = {"x": round_to_dtype(x, self.dtype)}
        return replace(self, **changed)
