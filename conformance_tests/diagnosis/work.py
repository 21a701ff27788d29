"""The work of a diagnosis, counted in steps, so that a busy machine finds what an idle one finds."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from veriformer.conformance_tests.core.work import RUNAWAY_SECONDS, numbers_in
from veriformer.conformance_tests.variants.family import Point

# A step is one decision of a formula on small arrays, about six microseconds. Comparing a candidate with the result
# takes so many steps, and so many numbers in the arrays take one more.
_TO_COMPARE = 20
_NUMBERS_IN_A_STEP = 200
# A call takes the work of so many candidates: its inputs, the right result and the bounds are computed for it.
_TO_OBSERVE = 10


@dataclass
class Work:
    """The steps done for one diagnosis. A clock ends only the search whose calls are slower than any count expects.

    `largest` is what a candidate takes on the largest call that was observed.
    """

    done: int = 0
    largest: int = 0
    cut_short: bool = False
    # Whether the user's budget, if there is one, is spent.
    is_spent: Callable[[], bool] = lambda: False
    _started: float = field(init=False)

    def __post_init__(self) -> None:
        self._started = time.monotonic()

    def compute(self, steps: int, times: int = 1) -> None:
        """Count candidates that were computed on one call; `steps` is what one of them takes."""
        self.done += steps * times

    def observe(self, steps: int) -> None:
        """Count a call of the implementation and what is right for it; `steps` is what a candidate takes there."""
        self.largest = max(self.largest, steps)
        self.done += _TO_OBSERVE * steps

    def over(self, end: float, ahead: int = 0) -> bool:
        """Return whether more than `end` steps are done, or will be with so many `ahead`."""
        return self.done + ahead > end or self.runs_away

    @property
    def runs_away(self) -> bool:
        """Whether the clock ended the search, which is remembered."""
        too_long = time.monotonic() - self._started > RUNAWAY_SECONDS
        self.cut_short = self.cut_short or too_long or self.is_spent()
        return self.cut_short


@dataclass(frozen=True, eq=False)
class _Counting(Point):
    """A point that counts the decisions that it carries out, in its parts too."""

    taken: list[str] = field(default_factory=list)

    def __getitem__(self, decision: str) -> Any:
        """Return the function of a decision, and count it."""
        self.taken.append(decision)
        return super().__getitem__(decision)

    def part(self, role: str) -> Point:
        """Return the point of a part, which counts in the same list."""
        part = super().part(role)
        return _Counting(part.family, part.chosen, taken=self.taken)


def counting(point: Point) -> tuple[Point, list[str]]:
    """Return the same point, and a list to which it adds each decision that it carries out."""
    same = _Counting(point.family, point.chosen)
    return same, same.taken


def steps_of_a_candidate(decisions: int, numbers: object) -> int:
    """Return what one candidate takes on a call: its decisions, the numbers it goes through, and the comparison."""
    return _TO_COMPARE + decisions + numbers_in(numbers) // _NUMBERS_IN_A_STEP
