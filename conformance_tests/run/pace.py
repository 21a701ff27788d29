"""The expected time of a run, estimated from its first laws, and whether the user's time budget is spent.

Without a budget no result depends on a clock; with one, time decides which laws are tried, and nothing else.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
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

# The number of laws before an estimate: calls are larger at the end of a law than at its beginning, so that no smaller
# part of one tells. Where laws differ more than so many times, or each shape is compiled, more must have been tried.
_FIRST_LAWS = 2
_FIRST_LAWS_THAT_DIFFER = 6
_ALIKE = 4.0
# Where each shape is compiled, and where workers take the longest laws first, the first laws take longest: a fifth of
# all must have been tried. Where shapes are compiled, the laws of an operation tell of its others from the third on.
_TELLING_SHARE, _COMPILED_OWN = 0.2, 3
# Shorter runs need no announcement, and a shorter time of the first laws may be due to a momentary delay.
_LONG = 60.0
_TELLING = 2.0
# Laws compare calls: of attention there were 3,933 calls on 2,600 cases (`veriformer check numpy`, seed 0).
_CALLS_A_CASE = 1.5


@dataclass(frozen=True)
class Progress:
    """The progress of a run, reported before each law, or with each result where workers try the laws.

    `law` is the law that is tried, and empty where none is; `stage` says in words what is done after the last law.
    `done` and `total` count the laws that are tried, not those about what is not declared.
    `forecast` is the expected time of a long run in words; it is reported once, and otherwise empty.
    `found` is what the first violated law of an operation shows, in a sentence: once for each operation that breaks
    one, where `RunOptions.tells_at_once` asks for it, and otherwise empty.
    """

    implementation: str
    law: str
    done: int
    total: int
    forecast: str = ""
    found: str = ""
    stage: str = ""


@dataclass(frozen=True)
class Measured:
    """A law that was tried: the calls that it made, and the seconds that it took."""

    operation: str
    calls: int
    seconds: float

    @property
    def each(self) -> float:
        """The seconds that one of these calls took."""
        return self.seconds / self.calls


@dataclass
class Pace:
    """The clock of a run: `budget` is the seconds that it may take, counted from `began`, or from its creation."""

    budget: float | None = None
    clock: Callable[[], float] = time.monotonic
    began: float | None = None
    _started: float = field(init=False)
    _announced: bool = field(init=False, default=False)
    _suspended: bool = field(init=False, default=False)
    _measured: list[Measured] = field(init=False, default_factory=list)

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
        self._started = self.clock() if self.began is None else self.began

    @property
    def left(self) -> float | None:
        """The seconds that are left of the budget; None without a budget."""
        return None if self.budget is None else max(0.0, self.budget - (self.clock() - self._started))

    @property
    def reason(self) -> str:
        """Why a search was ended: that the budget is spent; empty where it is not."""
        return f"the budget of {self.budget:g} s was spent" if self.left == 0.0 else ""

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

    @contextmanager
    def measuring(self, law: Law, stopwatch: Stopwatch) -> Iterator[None]:
        """Measure how long a law takes; the first of an operation without its longest call, which may set things up."""
        started, calls, stopwatch.longest = self.clock(), stopwatch.calls, 0.0
        yield
        made, seconds = stopwatch.calls - calls, self.clock() - started
        operation = law.statement.operation.name
        if made < 2:
            return
        if all(one.operation != operation for one in self._measured):
            seconds = (seconds - stopwatch.longest) * made / (made - 1)
        self._measured.append(Measured(operation, made, seconds))

    def tell(self, implementation: Implementation, left: list[Law], options: RunOptions, stands: Progress) -> None:
        """Report the expected time as soon as the laws that were tried show that those that are left will take long."""
        compiles = implementation.framework.compiles_per_shape
        if not self.can_tell(compiles=compiles) or (compiles and stands.done < _TELLING_SHARE * stands.total):
            return
        declared = [law for law in left if not not_declared(implementation, law)]
        if forecast := self.forecast(declared, options.selection, compiles=compiles):
            options.show(replace(stands, forecast=forecast))

    def can_tell(self, *, compiles: bool) -> bool:
        """Return whether the laws that were tried suffice for an estimate, and none was reported before."""
        each = [law.each for law in self._measured if law.seconds > 0]
        if self._announced or len(each) < _FIRST_LAWS or sum(law.seconds for law in self._measured) < _TELLING:
            return False
        alike = not compiles and max(each) <= _ALIKE * min(each)
        return alike or len(each) >= _FIRST_LAWS_THAT_DIFFER

    def forecast(self, left: Iterable[Law], selection: Selection, *, compiles: bool = False) -> str:
        """Return the expected time of a long run in words, once; otherwise nothing.

        seconds = Σ calls of a law · seconds of a call of its operation, or of any where none of its laws was tried

        Where each shape is compiled, the first laws take most of that time, and a law in the middle tells of the rest.
        """
        a_call, least = (_in_the_middle, _COMPILED_OWN) if compiles else (_on_average, 1)
        seconds = 0.0
        for law in left:
            own = [one for one in self._measured if one.operation == law.statement.operation.name]
            seconds += expected_calls([law], selection) * a_call(own if len(own) >= least else self._measured)
        each = a_call(self._measured)
        return self._announcement(seconds, f"a call takes about {each:.2g} s", "--workers N divides the work, ")

    def forecast_shared(self, seconds: float, tried: int, left: int, workers: int) -> str:
        """Return the same for laws divided among `workers`, of which `tried` took `seconds` together."""
        if tried < max(2 * workers, _TELLING_SHARE * (tried + left)) or seconds < _TELLING:
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


def _on_average(measured: Sequence[Measured]) -> float:
    return sum(one.seconds for one in measured) / sum(one.calls for one in measured)


def _in_the_middle(measured: Sequence[Measured]) -> float:
    return statistics.median_low(one.each for one in measured)


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
