"""The last values that two recorded models have in common, and the steps of each that lead away from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from veriformer.adapters.capture.trace import Kind
from veriformer.conformance_tests.ports.common_values import CommonValues
from veriformer.conformance_tests.ports.held_in_part import HeldInPart
from veriformer.conformance_tests.recognition.flow import Flow


@dataclass(frozen=True)
class Leaving:
    """A step whose operands both models have and whose result only one has.

    `common` are those operands that depend on the model's inputs or parameters.
    """

    step: int
    result: int
    common: tuple[int, ...]


class Frontier:
    """Where one model leaves what both compute, on the ways that lead to its results.

    A value that the other model does not have matters only if the results are reached from it through such values
    alone: whatever is computed in another way and comes to the same is passed by.
    """

    def __init__(self, flow: Flow, common: CommonValues, in_part: HeldInPart) -> None:
        self.flow, self.common, self.in_part = flow, common, in_part
        self._held: dict[int, bool] = {}

    def holds(self, value: int) -> bool:
        """Return whether both models have a value: by its numbers, or by what it is made of where these say nothing."""
        if value not in self._held:
            self._held[value] = self._holds(value)
        return self._held[value]

    def _holds(self, value: int) -> bool:
        if self.common.says_something(value) and not self.is_weight(value):
            # A factor that is made up for later changes nothing; one that is not is found as the cause.
            if self.common.has(value) or self.common.scaled(value):
                return True
            return self.in_part.has(value) and self._holds_operands(value)
        # What tells nothing of itself is common where all that it was made of is.
        return self._holds_operands(value)

    def _holds_operands(self, value: int) -> bool:
        step = self.flow.making(value)
        return step is None or all(self.holds(one) for one in step.operands)

    def is_weight(self, value: int) -> bool:
        """Return whether a value is a parameter, or several, that were only moved."""
        step = self.flow.making(value)
        if step is None:
            return True
        moved = step.kind == Kind.REARRANGEMENT and self.flow.is_fixed(value)
        return moved and all(self.is_weight(one) for one in step.operands)

    @cached_property
    def beyond(self) -> frozenset[int]:
        """The values behind the last common ones, from which the results are reached without any that is common."""
        found = {one for one in self.flow.trace.outputs if not self.holds(one)}
        queue = sorted(found)
        for value in queue:
            step = self.flow.making(value)
            for operand in () if step is None else step.operands:
                if operand not in found and not self.holds(operand):
                    found.add(operand)
                    queue.append(operand)
        return frozenset(found)

    @cached_property
    def leaving(self) -> Sequence[Leaving]:
        """The steps from common values to such that are not, in the order of execution."""
        found = []
        places = {place for one in self.beyond if (place := self.flow.maker(one)) is not None}
        for place in sorted(places):
            step = self.flow.steps[place]
            if all(self.holds(one) for one in step.operands):
                result = next(one for one in step.results if one in self.beyond)
                found.append(Leaving(place, result, tuple(one for one in step.operands if self._moves(one))))
        return found

    def _moves(self, value: int) -> bool:
        flow = self.flow
        return flow.array(value).dtype.kind == "f" and (
            flow.depends_on_input(value) or flow.depends_on_parameters(value)
        )
