"""The machine that runs scalar loops: it provides arrays and indices, and observes every operation."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

ARITHMETIC, FUNCTIONS, INPUTS, PARAMETERS, OUTPUTS = "arithmetic", "functions", "inputs", "parameters", "outputs"


class Table(Protocol):
    """Numbers by their indices."""

    def __getitem__(self, place: Any) -> Number:
        """The number at a place."""

    def __setitem__(self, place: Any, number: Number) -> None:
        """Keep a number."""


class Machine(Protocol):
    """The interface that scalar loops use. Only `count` and its callers contribute to a count."""

    def count(self, kind: str, times: Any) -> None:
        """Count operations, or numbers moved."""

    def loop(self, length: Any) -> Iterator[Any]:
        """The indices 0, …, length − 1."""

    def table(self, role: str | None = None, name: str = "", *shape: Any) -> Table:
        """An array: an input, parameters, an output, or (without a role) one that the loops keep to themselves."""

    def apply(self, function: str, *values: Any) -> Any:
        """The value of an operation."""

    def constant(self, value: Any) -> Number:
        """A number that does not depend on the inputs."""

    def token(self, row: Any) -> Any:
        """The token at a place, an index."""


class Number:
    """A scalar that reports every operation on it to its machine."""

    def __init__(self, machine: Machine, value: Any) -> None:
        self.machine = machine
        self.value = value

    def _operation(self, kind: str, function: str, *others: Number) -> Number:
        self.machine.count(kind, 1)
        return Number(self.machine, self.machine.apply(function, self.value, *(other.value for other in others)))

    def __add__(self, other: Number) -> Number:
        return self._operation(ARITHMETIC, "add", other)

    def __sub__(self, other: Number) -> Number:
        return self._operation(ARITHMETIC, "subtract", other)

    def __mul__(self, other: Number) -> Number:
        return self._operation(ARITHMETIC, "multiply", other)

    def __truediv__(self, other: Number) -> Number:
        return self._operation(ARITHMETIC, "divide", other)

    def larger(self, other: Number) -> Number:
        """The larger of two numbers, one comparison."""
        return self._operation(ARITHMETIC, "maximum", other)

    def exponential(self) -> Number:
        """e^x."""
        return self._operation(FUNCTIONS, "exp")

    def root(self) -> Number:
        """√x."""
        return self._operation(FUNCTIONS, "sqrt")

    def error_function(self) -> Number:
        """Erf x."""
        return self._operation(FUNCTIONS, "erf")


class CountingMachine:
    """Runs loops on given numbers; `counts` and the rest of `unread` show what they did."""

    def __init__(self, arrays: Mapping[str, Mapping[Any, float]], tokens: tuple[int, ...] = ()) -> None:
        self.arrays = arrays
        self.tokens = tokens
        self.counts: Counter[str] = Counter()
        self.unread: set[tuple[str, Any]] = set()

    def count(self, kind: str, times: int) -> None:
        """Count operations, or numbers moved."""
        self.counts[kind] += times

    def loop(self, length: int) -> Iterator[int]:
        """The indices 0, …, length − 1."""
        return iter(range(length))

    def table(self, role: str | None = None, name: str = "", *shape: int) -> Table:
        """An array; inputs and parameters are looked up by their names, and each of their numbers must be read."""
        if role is not None:
            self.count(role, math.prod(shape))
        if role not in (INPUTS, PARAMETERS):
            return _Store(self, name, {})
        places = list(_places(shape))
        self.unread.update((name, place) for place in places)
        values = self.arrays[name]
        return _Store(self, name, {place: Number(self, values[place]) for place in places})

    def apply(self, function: str, *values: float) -> float:
        """The value of an operation on floats."""
        return float(_FLOATS[function](*values))

    def constant(self, value: float) -> Number:
        """A number that does not depend on the inputs."""
        return Number(self, float(value))

    def token(self, row: int) -> int:
        """The token at a place."""
        return self.tokens[row]


class _Store(dict[Any, Number]):
    """A table that removes entries that are read from its machine's list."""

    def __init__(self, machine: CountingMachine, name: str, numbers: dict[Any, Number]) -> None:
        super().__init__(numbers)
        self.machine = machine
        self.name = name

    def __getitem__(self, place: Any) -> Number:
        self.machine.unread.discard((self.name, place))
        return super().__getitem__(place)


def _places(shape: tuple[int, ...]) -> Iterator[Any]:
    if len(shape) == 1:
        yield from range(shape[0])
        return
    import itertools

    yield from itertools.product(*map(range, shape))


_FLOATS: dict[str, Any] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
    "maximum": max,
    "exp": math.exp,
    "sqrt": math.sqrt,
    "erf": math.erf,
}
