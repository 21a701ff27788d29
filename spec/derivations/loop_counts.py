"""Scalar loops run on symbolic sizes: one pass through each loop's body, counted as a sum over the loop's range."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import sympy
from sympy import Expr, Integer, Sum, Symbol
from veriformer.spec.cost.machine import ARITHMETIC, FUNCTIONS, INPUTS, OUTPUTS, PARAMETERS, Machine, Number, Table

_INDICES = "ijklmnopq"


class TracingMachine:
    """Counts without computing. Sound because no loop's range and no operation depends on a computed number.

    What the body of a loop counts becomes Σ over the loop's index, left unevaluated: nested loops give nested sums.
    """

    def __init__(self) -> None:
        self._frames: list[dict[str, Expr]] = [{}]

    def count(self, kind: str, times: Any) -> None:
        """Count operations, or numbers moved, in the innermost loop."""
        frame = self._frames[-1]
        frame[kind] = frame.get(kind, Integer(0)) + sympy.sympify(times)

    def counted(self, kind: str) -> Expr:
        """The counts, as nested sums."""
        return self._frames[0].get(kind, Integer(0))

    def loop(self, length: Any) -> Iterator[Symbol]:
        """One symbolic index; the counts until the loop requests the next one are summed over 0, …, length − 1."""
        index = Symbol(_INDICES[len(self._frames) - 1], integer=True)
        self._frames.append({})
        yield index
        for kind, times in self._frames.pop().items():
            self.count(kind, Sum(times, (index, 0, length - 1)))

    def table(self, role: str | None = None, name: str = "", *shape: Any) -> Table:
        """An array whose numbers are not known; one with a role counts its places."""
        if role is not None:
            first = len(self._frames) - 1
            ranges = [(Symbol(_INDICES[first + axis], integer=True), 0, size - 1) for axis, size in enumerate(shape)]
            self.count(role, Sum(Integer(1), *ranges))
        return _Unknown(self)

    def apply(self, function: str, *values: Any) -> None:
        """No value."""

    def constant(self, value: Any) -> Number:
        """A number without a value."""
        return Number(self, None)

    def token(self, row: Any) -> int:
        """Any token."""
        return 0


class _Unknown:
    """A table in which every place holds an unknown number."""

    def __init__(self, machine: Machine) -> None:
        self._number = Number(machine, None)

    def __getitem__(self, place: Any) -> Number:
        return self._number

    def __setitem__(self, place: Any, number: Number) -> None:
        """Keep nothing."""


def operations_in(loops: Callable[[Machine], object], function_cost: Expr) -> Expr:
    """The operations of some loops as nested sums, a function counting as much as given."""
    machine = TracingMachine()
    loops(machine)
    return machine.counted(ARITHMETIC) + machine.counted(FUNCTIONS) * function_cost


def parameters_in(loops: Callable[[Machine], object]) -> Expr:
    """The numbers in the parameters that some loops ask for, as nested sums."""
    machine = TracingMachine()
    loops(machine)
    return machine.counted(PARAMETERS)


def numbers_moved_in(loops: Callable[[Machine], object]) -> Expr:
    """The numbers in the inputs, parameters and outputs that some loops ask for, as nested sums."""
    machine = TracingMachine()
    loops(machine)
    return machine.counted(INPUTS) + machine.counted(PARAMETERS) + machine.counted(OUTPUTS)
