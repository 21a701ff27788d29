"""The expected time of a run, estimated from its first calls, and whether the user's time budget is spent.

Without a budget no result depends on a clock; with one, time decides which laws are tried, and nothing else.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from veriformer.adapters.implementation import Implementation
from veriformer.adapters.stopwatch import Stopwatch
from veriformer.conformance_tests.core.law import Law
from veriformer.conformance_tests.core.law_result import LawResult
from veriformer.conformance_tests.core.selection import Selection
from veriformer.conformance_tests.drawing.case import BatchableCase
from veriformer.conformance_tests.drawing.space import NoSpace
from veriformer.conformance_tests.operations.suites import suite_of
from veriformer.conformance_tests.run.applicability import not_declared
from veriformer.spec.laws import LawStatement

if TYPE_CHECKING:
    from veriformer.conformance_tests.run.options import RunOptions

# The number of calls before an estimate; where each shape is compiled, most shapes must have been met.
_FIRST_CALLS = 5
_FIRST_COMPILED_CALLS = 200
# Shorter runs need no announcement, and a shorter time of all calls may be due to a momentary delay.
_LONG = 60.0
_TELLING = 2.0
# Laws compare calls: of attention there were 3,933 calls on 2,600 cases (`veriformer check numpy`, seed 0).
_CALLS_A_CASE = 1.5


@dataclass(frozen=True)
class Progress:
    """The progress of a run, reported before each law, or with each result where workers try the laws.

    `done` and `total` count the laws that are tried, not those about what is not declared.
    `forecast` is the expected time of a long run in words; it is reported once, and otherwise empty.
    """

    implementation: str
    law: str
    done: int
    total: int
    forecast: str = ""


@dataclass
class Pace:
    """The clock of a run: `budget` is the seconds that its laws may take, counted from its creation."""

    budget: float | None = None
    clock: Callable[[], float] = time.monotonic
    _started: float = field(init=False)
    _announced: bool = field(init=False, default=False)
    _suspended: bool = field(init=False, default=False)

    @classmethod
    def until(cls, deadline: float | None, budget: float | None) -> Pace:
        """Return the pace in a worker of a run whose budget is spent at `deadline`, by the wall clock."""
        pace = cls(budget)
        if budget is not None and deadline is not None:
            pace._started += deadline - time.time() - budget
        return pace

    @property
    def deadline(self) -> float | None:
        """When the budget is spent, by the wall clock; None without a budget."""
        return None if self.left is None else time.time() + self.left

    def __post_init__(self) -> None:
        if self.budget is not None and not (math.isfinite(self.budget) and self.budget > 0):
            raise ValueError(f"the budget is {self.budget}; give a finite number of seconds above 0")
        self._started = self.clock()

    @property
    def left(self) -> float | None:
        """The seconds that are left of the budget; None without a budget."""
        return None if self.budget is None else max(0.0, self.budget - (self.clock() - self._started))

    def is_spent(self) -> bool:
        """Return whether the budget is spent; never without a budget."""
        return self.left == 0.0 and not self._suspended

    @contextmanager
    def suspended(self) -> Iterator[None]:
        """Ignore the budget in this context, for work that a fair verdict needs."""
        self._suspended = True
        try:
            yield
        finally:
            self._suspended = False

    def untried(self, law: LawStatement, cases: int = 0) -> LawResult:
        """Return the result of a law for which time was left for `cases` of its cases only."""
        began = f" after {cases} of its cases, on which it held" if cases else ""
        return LawResult(law, "not_tried", cases, reason=f"the budget of {self.budget:g} s was spent{began}")

    def not_tried(self, results: Iterable[LawResult]) -> list[str]:
        """Return a sentence about the number of laws not tried for want of time; none for 0."""
        number = sum(result.status == "not_tried" for result in results)
        if not number:
            return []
        which = "1 law was" if number == 1 else f"{number} laws were"
        return [f"the budget of {self.budget:g} s was spent; {which} not tried, which says nothing about them"]

    def listen(
        self,
        implementation: Implementation,
        left: list[Law],
        options: RunOptions,
        stands: Progress,
    ) -> None:
        """Report the expected time as soon as the calls show that the laws that are left will take long."""
        stopwatch, compiles = implementation.stopwatch, implementation.framework.compiles_per_shape
        declared = (law for law in left if not not_declared(implementation, law))

        def hear() -> None:
            if not self.can_tell(stopwatch, compiles=compiles):
                return
            if forecast := self.forecast(stopwatch, expected_calls(declared, options.selection)):
                options.show(replace(stands, forecast=forecast))

        stopwatch.heard = hear

    def can_tell(self, stopwatch: Stopwatch, *, compiles: bool) -> bool:
        """Return whether enough calls were made for an estimate, and none was reported before."""
        first = _FIRST_COMPILED_CALLS if compiles else _FIRST_CALLS
        return not self._announced and stopwatch.calls >= first and stopwatch.seconds >= _TELLING

    def forecast(self, stopwatch: Stopwatch, calls_left: float) -> str:
        """Return the expected time of a long run in words, once; otherwise nothing.

        seconds = calls left · seconds of a call so far
        """
        each = stopwatch.seconds / stopwatch.calls
        shared = "--workers N divides the work among processes, "
        return self._announcement(calls_left * each, f"a call takes {each:.2g} s", shared)

    def forecast_shared(self, seconds: float, tried: int, left: int, workers: int) -> str:
        """Return the same for laws divided among `workers`, of which `tried` took `seconds` together."""
        if tried < 2 * workers or seconds < _TELLING:
            return ""
        each = seconds / tried
        return self._announcement(left * each / workers, f"a law takes {each:.2g} s")

    def _announcement(self, seconds: float, why: str, shared: str = "") -> str:
        announced, self._announced = self._announced, True
        if announced or seconds < _LONG:
            return ""
        advice = f"{shared}--budget SECONDS stops after that time, having tried the most revealing laws first"
        if self.budget is not None:
            advice = f"the budget allows {self.budget:g} s of it" if seconds > self.budget else ""
        return f"{duration(seconds)}: {why}" + (f"; {advice}" if advice else "")


def duration(seconds: float) -> str:
    """Return about how long something takes: "about 4 minutes"."""
    for unit, name in ((3600.0, "hour"), (60.0, "minute")):
        if seconds >= 1.5 * unit:
            return f"about {round(seconds / unit)} {name}s"
    return "about a minute" if seconds >= _LONG else f"about {round(seconds)} seconds"


def expected_calls(laws: Iterable[Law], selection: Selection) -> float:
    """Return about how many calls laws make in one run."""
    return sum(_CALLS_A_CASE * (_cases(law, selection) + 1) for law in laws)


def _cases(law: Law, selection: Selection) -> int:
    operation = law.statement.operation.name
    ordinary = None if isinstance(law.space, NoSpace) else suite_of(operation).ordinary
    costly = isinstance(ordinary, BatchableCase) and ordinary.is_costly
    return selection.batches if costly and law.batched else selection.examples_of(operation, law.statement.claim.key)
