"""Values of which another model computes a part only, as one that gives each expert its own tokens does."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from veriformer.conformance_tests.ports.common_values import CommonValues
from veriformer.conformance_tests.recognition.flow import Flow


class HeldInPart:
    """The values of one model that hold whole values of another one, which never computes the rest."""

    def __init__(self, flow: Flow, other: Flow, to_own: CommonValues) -> None:
        self.flow, self.other, self.to_own = flow, other, to_own

    def has(self, value: int) -> bool:
        """Return whether a value holds one of the other model, and nothing that the other computes alike is missing.

        A loop whose later steps are wrong makes values that hold those of its first steps, and these are not meant.
        """
        inside = self._inside.get(self.flow.source(value), ())
        return any(self._has_all_like(one) for one in inside)

    @cached_property
    def _inside(self) -> dict[int, list[int]]:
        """The values of the other model that are in one value, by that value."""
        found: dict[int, list[int]] = {}
        for one in self.to_own.own.values:
            if not self.other.depends_on_input(one) or self.to_own.same(one):
                continue
            holders = {self.flow.source(holder) for holder in self.to_own.pieces(one)}
            if len(holders) == 1:
                found.setdefault(holders.pop(), []).append(one)
        return found

    def _has_all_like(self, value: int) -> bool:
        """Return whether the results of all steps of one line are there whose operands are."""
        made = self.other.making(value)
        if made is None:
            return True
        steps = self._by_line.get((made.file, made.line, made.operation), ())
        return all(self._is_there(place) for place in steps)

    def _is_there(self, place: int) -> bool:
        step = self.other.steps[place]
        operands = [one for one in step.operands if self.to_own.says_something(one)]
        if not all(self.to_own.has(one) for one in operands if self.other.depends_on_input(one)):
            return True
        return all(self.to_own.has(one) for one in step.results if self.to_own.says_something(one))

    @cached_property
    def _by_line(self) -> dict[tuple[str, int, str], Sequence[int]]:
        found: dict[tuple[str, int, str], list[int]] = {}
        for place, step in enumerate(self.other.steps):
            found.setdefault((step.file, step.line, step.operation), []).append(place)
        return dict(found)
