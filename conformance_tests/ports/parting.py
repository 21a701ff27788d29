"""What two models do next to the last values that both have: the steps of one beside those of the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from veriformer.adapters.capture.trace import Kind
from veriformer.conformance_tests.ports.common_values import CommonValues, Numbers
from veriformer.conformance_tests.ports.formulas import Formula, formula_of
from veriformer.conformance_tests.ports.frontier import Frontier, Leaving
from veriformer.conformance_tests.ports.held_in_part import HeldInPart
from veriformer.conformance_tests.recognition.flow import Flow

_MOST_STEPS, _MOST_PARTINGS, _NEAR = 200, 24, 24
_LEAST_LIKE = 2.0


@dataclass(frozen=True)
class Parting:
    """A step by which the second model leaves what both have, and the step of the first one that it stands for.

    `first` and `counterpart`, what that step computes, are None where the first model does nothing like it.
    """

    second: Leaving
    formula: Formula
    first: int | None = None
    counterpart: Formula | None = None

    @property
    def computes_the_same(self) -> bool:
        """Whether both steps are the same operation, of whatever operands."""
        return self.counterpart is not None and self.counterpart.name == self.formula.name


class Behind:
    """One model behind the values that both have."""

    def __init__(self, flow: Flow, common: CommonValues, back: CommonValues) -> None:
        self.flow, self.common = flow, common
        self.frontier = Frontier(flow, common, HeldInPart(flow, back.own.flow, back))
        self._formulas: dict[int, Formula] = {}

    def formula(self, place: int) -> Formula:
        """Return what a step computes."""
        if place not in self._formulas:
            self._formulas[place] = formula_of(self.flow, self.flow.steps[place])
        return self._formulas[place]

    @cached_property
    def steps(self) -> Sequence[int]:
        """The first steps behind the common values that compute something, in order."""
        made = {step for one in self.frontier.beyond if (step := self.flow.maker(one)) is not None}
        return [one for one in sorted(made) if self.flow.steps[one].kind != Kind.REARRANGEMENT][:_MOST_STEPS]

    @cached_property
    def leaving(self) -> frozenset[int]:
        """The steps whose operands both models have."""
        return frozenset(one.step for one in self.frontier.leaving)

    @cached_property
    def used(self) -> frozenset[int]:
        """All values that the results are made of."""
        return frozenset(one for output in self.flow.trace.outputs for one in self.flow.ancestors(output))

    def moving(self, place: int) -> list[int]:
        """Return the operands of a step that depend on the inputs, as numbers."""
        operands = dict.fromkeys(self.flow.steps[place].operands)
        return [one for one in operands if self.flow.depends_on_input(one) and self.flow.array(one).dtype.kind == "f"]

    def weights(self, place: int) -> list[int]:
        """Return the operands of a step that are made of parameters alone."""
        operands = dict.fromkeys(self.flow.steps[place].operands)
        return [one for one in operands if self.flow.is_fixed(one) and self.flow.depends_on_parameters(one)]

    def names(self, place: int) -> tuple[str, ...]:
        """Return the parameters that a step uses."""
        names = (name for one in self.weights(place) for name in self.flow.parameters_of(one))
        return tuple(dict.fromkeys(names))

    def chain(self, start: int) -> list[int]:
        """Return the values that are made from one behind the common values, the nearest first."""
        beyond = self.frontier.beyond
        found = self.flow.descendants(start, lambda value: value not in beyond)
        return [one for one in found if one in beyond][:_NEAR]

    def way(self, start: Iterable[int], end: int) -> list[int] | None:
        """Return the steps behind the common values that make one value from some; None if it is not made of them."""
        starts = set(start)
        steps: set[int] = set()
        reached = False
        queue = [end]
        for value in queue:
            place = self.flow.maker(value)
            if place is None or place in steps or value not in self.frontier.beyond:
                continue
            steps.add(place)
            for operand in self.flow.steps[place].operands:
                reached = reached or bool({operand, *self.sources([operand])} & starts)
                queue.append(operand)
        return sorted(steps) if reached else None

    def sources(self, values: Iterable[int]) -> Iterator[int]:
        """Yield values, and what they are rearrangements of."""
        for one in values:
            yield one
            yield self.flow.source(one)


class Partings:
    """The steps by which two models leave what both have."""

    def __init__(self, first: Behind, second: Behind) -> None:
        self.first, self.second = first, second

    @classmethod
    def between(cls, first: Flow, second: Flow, bound: float) -> Partings:
        """Return how two recorded models part; values are the same up to `bound` of their largest entry."""
        one, other = Numbers(first, bound), Numbers(second, bound)
        there, back = CommonValues(one, other), CommonValues(other, one)
        return cls(Behind(first, there, back), Behind(second, back, there))

    @cached_property
    def exchanged(self) -> Partings:
        """The same with the first model as the second."""
        return Partings(self.second, self.first)

    @cached_property
    def all(self) -> Sequence[Parting]:
        """The pairs, in the order of the second model's execution."""
        return [self._paired(one) for one in self.second.frontier.leaving[:_MOST_PARTINGS]]

    def _paired(self, leaving: Leaving) -> Parting:
        formula = self.second.formula(leaving.step)
        shared = {value: self.counterparts(value) for value in leaving.common}
        scored = [(self._likeness(shared, formula, place), -place) for place in self.first.steps]
        score, place = max(scored, default=(0.0, 0))
        if score < _LEAST_LIKE:
            return Parting(leaving, formula)
        return Parting(leaving, formula, -place, self.first.formula(-place))

    def _likeness(self, shared: dict[int, set[int]], formula: Formula, place: int) -> float:
        """Return how much a step of the first model has in common with one of the second."""
        operands = set(self.first.sources(self.first.flow.steps[place].operands))
        alike = [value for value, others in shared.items() if others & operands]
        if not alike:
            return 0.0
        of_weights = sum(self.second.flow.is_fixed(value) for value in alike)
        same = self.first.formula(place).name == formula.name
        return 2.0 * len(alike) + of_weights + same + 0.5 * (place in self.first.leaving)

    def is_used(self, first: int) -> bool:
        """Return whether the second model's results are made of the numbers of a value of the first."""
        common = self.first.common
        found = common.same(first) or common.pieces(first) or tuple(one.value for one in common.scaled(first))
        return any(one in self.second.used for one in found)

    def counterparts(self, value: int) -> set[int]:
        """Return the values of the first model that a value of the second one is, or that hold it in pieces."""
        common = self.second.common
        scaled = (one.value for one in common.scaled(value))
        found = common.same(value) or common.pieces(value) or tuple(scaled)
        return set(self.first.sources(found))

    def is_same(self, second: int, first: int) -> bool:
        """Return whether a value of the second model has all numbers of one of the first, or is part of it."""
        return bool(self.counterparts(second) & set(self.first.sources([first])))
