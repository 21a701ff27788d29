"""How long a run will take, as its first calls tell, and whether the time that the user allows is spent.

Without a budget nothing that a run finds depends on a clock; with one, time decides which laws are tried, and nothing
else.
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

# After so many calls the others can be foretold; where each shape is compiled, only once most shapes were met.
_FIRST_CALLS = 5
_FIRST_COMPILED_CALLS = 200
# What is ready sooner needs no announcement, and calls that took so little together may have been a moment's hindrance.
_LONG = 60.0
_TELLING = 2.0
# Laws compare calls: of attention there were 3,933 calls on 2,600 cases (`veriformer check numpy`, seed 0).
_CALLS_A_CASE = 1.5


@dataclass(frozen=True)
class Progress:
    """Where a run stands: told before each law, and where others try them, as their results come.

    `forecast` says in words what the run will take, once, where its first calls show that it will take long.
    """

    implementation: str
    law: str
    done: int
    total: int
    forecast: str = ""


@dataclass
class Pace:
    """The clock of a run: `budget` is how many seconds its laws may take, counted from when this is made."""

    budget: float | None = None
    clock: Callable[[], float] = time.monotonic
    _started: float = field(init=False)
    _has_told: bool = field(init=False, default=False)
    _suspended: bool = field(init=False, default=False)

    @classmethod
    def until(cls, deadline: float | None, budget: float | None) -> Pace:
        """Return the pace of a process that helps with a run whose budget is spent at this time of the day's clock."""
        pace = cls(budget)
        if budget is not None and deadline is not None:
            pace._started += deadline - time.time() - budget
        return pace

    @property
    def deadline(self) -> float | None:
        """When the budget is spent, by the day's clock; None where there is none."""
        return None if self.left is None else time.time() + self.left

    def __post_init__(self) -> None:
        if self.budget is not None and not (math.isfinite(self.budget) and self.budget > 0):
            raise ValueError(f"the budget is {self.budget}; give a finite number of seconds above 0")
        self._started = self.clock()

    @property
    def left(self) -> float | None:
        """The seconds that are left of the budget; None where there is none."""
        return None if self.budget is None else max(0.0, self.budget - (self.clock() - self._started))

    def is_spent(self) -> bool:
        """Return whether the budget is spent; never where there is none."""
        return self.left == 0.0 and not self._suspended

    @contextmanager
    def suspended(self) -> Iterator[None]:
        """Let what is owed to the implementation be done, though the budget be spent."""
        self._suspended = True
        try:
            yield
        finally:
            self._suspended = False

    def untried(self, law: LawStatement, cases: int = 0) -> LawResult:
        """Return the result of a law for which no time was left, or too little for more than so many of its cases."""
        began = f" after {cases} of its cases, on which it held" if cases else ""
        return LawResult(law, "not_tried", cases, reason=f"the budget of {self.budget:g} s was spent{began}")

    def not_tried(self, results: Iterable[LawResult]) -> list[str]:
        """Return a sentence about how many laws there was no time for; none where there was enough."""
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
        """Have it told, as soon as calls show that the laws left will take long, how long that is."""
        stopwatch, compiles = implementation.stopwatch, implementation.framework.compiles_per_shape
        declared = (law for law in left if not not_declared(implementation, law))

        def hear() -> None:
            if not self.can_tell(stopwatch, compiles=compiles):
                return
            if forecast := self.forecast(stopwatch, expected_calls(declared, options.selection)):
                options.show(replace(stands, forecast=forecast))

        stopwatch.heard = hear

    def can_tell(self, stopwatch: Stopwatch, *, compiles: bool) -> bool:
        """Return whether enough calls were made to foretell the others, and nothing was foretold before."""
        first = _FIRST_COMPILED_CALLS if compiles else _FIRST_CALLS
        return not self._has_told and stopwatch.calls >= first and stopwatch.seconds >= _TELLING

    def forecast(self, stopwatch: Stopwatch, calls_left: float) -> str:
        """Return what the run will take in words, once, where that is long; else nothing.

        seconds = calls left · seconds of a call so far
        """
        each = stopwatch.seconds / stopwatch.calls
        shared = "--workers N divides the work among processes, "
        return self._told(calls_left * each, f"a call takes {each:.2g} s", shared)

    def forecast_shared(self, seconds: float, tried: int, left: int, workers: int) -> str:
        """Return the same of laws that `workers` share, of which so many took so many seconds together."""
        if tried < 2 * workers or seconds < _TELLING:
            return ""
        each = seconds / tried
        return self._told(left * each / workers, f"a law takes {each:.2g} s")

    def _told(self, seconds: float, why: str, shared: str = "") -> str:
        told, self._has_told = self._has_told, True
        if told or seconds < _LONG:
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
    return selection.batches if costly and law.batched else selection.examples_of(operation)
