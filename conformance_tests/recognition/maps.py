"""The places where a model's parameters act on its values: products with matrices, and rows of tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from veriformer.adapters.capture.trace import Kind, Step
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.recognition.flow import Flow


@dataclass(frozen=True)
class LinearMap:
    """A product of values with a matrix of parameters, y = x W + b, as the model made it.

    `product` is the value before the bias, `output` the one after it; they are one where there is no bias or where one
    operation did both. `weight` and `bias` are values; `names` are the parameters that the matrix is made of.
    """

    step: int
    input: int
    weight: int
    product: int
    output: int
    bias: int | None
    names: tuple[str, ...]
    module: str

    @property
    def label(self) -> str:
        """How a reader finds it: the parameters' paths."""
        return ", ".join(self.names)


@dataclass(frozen=True)
class Lookup:
    """Rows of a table of parameters."""

    step: int
    table: int
    rows: int
    output: int
    names: tuple[str, ...]
    module: str


class Maps:
    """All linear maps and lookups of a pass, in order."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow

    @cached_property
    def linear(self) -> tuple[LinearMap, ...]:
        """The linear maps, in the order of execution."""
        return tuple(self._linear())

    @cached_property
    def lookups(self) -> tuple[Lookup, ...]:
        """The lookups, in the order of execution."""
        return tuple(self._lookups())

    @cached_property
    def by_output(self) -> dict[int, LinearMap]:
        """The linear map that a value comes out of."""
        return {one.output: one for one in self.linear} | {one.product: one for one in self.linear}

    @cached_property
    def products(self) -> tuple[int, ...]:
        """The steps that multiply two values which both depend on the input: attention's two products, mostly."""
        return tuple(
            index
            for index, step in enumerate(self.flow.steps)
            if step.kind == Kind.CONTRACTION and all(self.flow.depends_on_input(one) for one in factors(step))
        )

    def width_in(self, one: LinearMap) -> int:
        """Return over how many components of its input a map sums."""
        step, shape = self.flow.steps[one.step], self.flow.shape(one.input)
        if "contracted" not in step.attributes:
            return shape[-1] if shape else 0
        summed = step.attributes["contracted"][factors(step).index(one.input)]
        return int(np.prod([shape[axis] for axis in summed]))

    def width_out(self, one: LinearMap) -> int:
        """Return how many components a map gives for each vector, wherever their axes are."""
        step, shape = self.flow.steps[one.step], self.flow.shape(one.output)
        if "contracted" not in step.attributes:
            return shape[-1] if shape else 0
        size = max(self.flow.array(one.input).size, 1)
        return int(np.prod(self.flow.shape(one.product))) * self.width_in(one) // size

    def _linear(self) -> Iterator[LinearMap]:
        for index, step in enumerate(self.flow.steps):
            if step.kind != Kind.CONTRACTION or len(step.operands) < 2:
                continue
            first, second = factors(step)
            fixed = [one for one in (first, second) if self.flow.is_fixed(one)]
            if len(fixed) != 1 or not self.flow.depends_on_parameters(fixed[0]):
                continue
            moving = second if fixed[0] == first else first
            yield self._with_bias(index, step, moving, fixed[0])

    def _with_bias(self, index: int, step: Step, moving: int, fixed: int) -> LinearMap:
        product = step.results[0]
        own = [one for one in step.operands if one not in (moving, fixed)]
        bias, output = (own[0], product) if own else self._added_bias(product, self._columns(step, fixed))
        # What a fused bias was made of is no part of the matrix.
        return LinearMap(index, moving, fixed, product, output, bias, self.flow.parameters_of(fixed), step.module)

    def _columns(self, step: Step, fixed: int) -> int:
        """Return how many columns the matrix of a product has."""
        summed = step.attributes.get("contracted")
        shape = self.flow.shape(fixed)
        if summed is None:
            return int(np.prod(shape))
        return int(np.prod(shape)) // max(int(np.prod([shape[axis] for axis in summed[factors(step).index(fixed)]])), 1)

    def _added_bias(self, product: int, columns: int) -> tuple[int | None, int]:
        """Return the vector of parameters that is added to a product next, with the sum; None where none is."""
        value = product
        for _ in range(4):
            users = [self.flow.steps[one] for one in self.flow.users(value)]
            sums = [one for one in users if one.kind == Kind.ADDITION and self._vector(one, value, columns) is not None]
            if len(users) == 1 and sums:
                return self._vector(sums[0], value, columns), sums[0].results[0]
            same = [one for one in users if one.kind == Kind.REARRANGEMENT and self._as_large(one, value)]
            if len(users) != 1 or not same:
                return None, product
            value = same[0].results[0]
        return None, product

    def _vector(self, step: Step, value: int, columns: int) -> int | None:
        """Return the other term of a sum where it is a vector of parameters as wide as the value or its heads.

        What has more numbers than the matrix has columns is a table, such as that of positions.
        """
        others = [one for one in step.operands if one != value]
        if len(others) != 1 or not self.flow.is_fixed(others[0]) or not self.flow.depends_on_parameters(others[0]):
            return None
        vector, whole = self.flow.array(others[0]), self.flow.array(value)
        made_of = [self.flow.array(self.flow.trace.parameters[name]) for name in self.flow.parameters_of(others[0])]
        # One map for queries, keys and values may have three axes of its own.
        ends = (int(np.prod(whole.shape[-axes:])) for axes in (1, 2, 3))
        wide = {width for width in ends if width <= columns}
        flat = bool(made_of) and all(one.size in wide for one in made_of)
        return others[0] if vector.size in wide or (flat and vector.size == whole.size) else None

    def _as_large(self, step: Step, value: int) -> bool:
        return len(step.results) == 1 and self.flow.array(step.results[0]).size == self.flow.array(value).size

    def _lookups(self) -> Iterator[Lookup]:
        for index, step in enumerate(self.flow.steps):
            if step.kind != Kind.LOOKUP:
                continue
            table, *rest = step.operands
            rows = next((one for one in rest if self.flow.array(one).dtype.kind in "iub"), None)
            # Rows of what the model computed, such as those of the tokens of an expert, are of no table.
            if rows is not None and self.flow.depends_on_parameters(table) and self.flow.is_fixed(table):
                names = self.flow.parameters_of(table)
                yield Lookup(index, table, rows, step.results[0], names, step.module)


def factors(step: Step) -> tuple[int, int]:
    """Return the two values that a contraction multiplies."""
    first, second = step.attributes.get("factors", (0, 1))
    return step.operands[first], step.operands[second]


def canonical_factors(flow: Flow, step: Step) -> tuple[Array, Array] | None:
    """Return the two factors with their axes as (parallel…, own…, contracted); None where they are not known."""
    if "contracted" not in step.attributes:
        return None
    values = factors(step)
    turned = []
    for value, summed, parallel in zip(values, step.attributes["contracted"], step.attributes["parallel"], strict=True):
        array = flow.array(value)
        own = [axis for axis in range(array.ndim) if axis not in summed and axis not in parallel]
        turned.append(array.transpose(*parallel, *own, *summed))
    return turned[0], turned[1]
