"""The first calls of a process, kept so that they can be repeated after other calls.

Questions about conventions and laws of shape and dtype come first, and judge no value. They would not reveal an
operation whose first results differ from later ones (a table filled at first use, a graph captured at the third call).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from veriformer.conformance_tests.core.selection import share_of
from veriformer.conformance_tests.drawing.arrays import Array

if TYPE_CHECKING:
    from veriformer.conformance_tests.core.expected import Conventions
    from veriformer.conformance_tests.core.inputs import Inputs

_FIRST = 50
# Large ones would take memory for the whole run.
_MOST_NUMBERS = 20_000


@dataclass(frozen=True)
class FirstCall:
    """A call that was answered: its number, counted from 1, its inputs, under which conventions, and the answer."""

    number: int
    inputs: Inputs
    conventions: Conventions
    answer: Array


@dataclass
class FirstCalls:
    """The first calls that an operation answered in this process in the right shape, as far as they are small."""

    kept: list[FirstCall] = field(default_factory=list)
    made: int = 0

    def add(self, inputs: Inputs, conventions: Conventions, answer: Array | None) -> None:
        """Count a call, and keep it where it is one of the first and small; one without an answer is counted alone."""
        self.made += 1
        # Calls of models and layers take as long as dozens of others.
        first = _FIRST // share_of(inputs.operation)
        if answer is not None and self.made <= first and answer.size <= _MOST_NUMBERS:
            self.kept.append(FirstCall(self.made, inputs, conventions, answer.copy()))
