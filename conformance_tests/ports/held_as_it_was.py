"""Weights that the second model holds as they were, while its code takes others in their place, or none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.ports.finding import Finding
from veriformer.conformance_tests.ports.items import Weight
from veriformer.conformance_tests.ports.side import Side
from veriformer.conformance_tests.recognition.agreement import agree


class HeldAsTheyWere:
    """Which of the first model's parameters the second one has, by their names, or by their numbers and unused."""

    def __init__(self, first: Side, second: Side) -> None:
        self.first, self.second = first, second

    def marked(self, findings: Sequence[Finding]) -> list[Finding]:
        """Return findings with the parameters that the second model's code should take, where it has them."""
        return [replace(one, held=held) if (held := self._held(one)) else one for one in findings]

    def _held(self, one: Finding) -> str:
        wanted = one.first
        if one.relation is None or not isinstance(wanted, Weight) or not wanted.names:
            return ""
        if one.relation.name == "missing":
            return self._by_name(wanted.names) or self._unused_with(wanted.names)
        taken = one.second
        if one.elsewhere is None or not isinstance(taken, Weight) or taken.names != one.elsewhere.names:
            return ""
        # Under its own name it was loaded right; it stands at a wrong place in the code.
        return self._by_name(wanted.names) if self._by_name(taken.names) else ""

    def _by_name(self, names: tuple[str, ...]) -> str:
        """Return the parameters of these names where both models have the same numbers under them."""
        return ", ".join(names) if names and all(map(self._is_held, names)) else ""

    def _is_held(self, name: str) -> bool:
        if name not in self.first.trace.parameters or name not in self.second.trace.parameters:
            return False
        mine, other = self.first.parameter(name), self.second.parameter(name)
        return mine.shape == other.shape and _is_telling(mine) and agree(other, mine)

    def _unused_with(self, names: tuple[str, ...]) -> str:
        """Return the parameter with the numbers of the first model's that no result of the second depends on."""
        if len(names) != 1 or names[0] not in self.first.trace.parameters:
            return ""
        wanted = self.first.parameter(names[0])
        if not _is_telling(wanted):
            return ""
        return next((name for name in self._unused if _has_numbers(wanted, self.second.parameter(name))), "")

    @cached_property
    def _unused(self) -> tuple[str, ...]:
        flow = self.second.flow
        used = {one for output in self.second.trace.outputs for one in (output, *flow.ancestors(output))}
        return tuple(name for name, value in self.second.trace.parameters.items() if value not in used)


def _is_telling(array: Array) -> bool:
    return array.size > 1 and bool(np.ptp(array) > 0)


def _has_numbers(first: Array, second: Array) -> bool:
    return first.size == second.size and agree(np.sort(second, axis=None), np.sort(first, axis=None))
