"""A run of a slow implementation: what it will take is said early, and a budget ends it without a word for the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from veriformer.adapters.implementation import Implementation
from veriformer.adapters.loading import load
from veriformer.adapters.stopwatch import Stopwatch
from veriformer.conformance_tests import Report, check
from veriformer.conformance_tests.core.selection import Selection
from veriformer.conformance_tests.operations.laws import laws
from veriformer.conformance_tests.reports.comparison import short_tally
from veriformer.conformance_tests.reports.console import report_text
from veriformer.conformance_tests.reports.json_report import report_as_json
from veriformer.conformance_tests.run.expected_failures import Entry, ExpectedFailures
from veriformer.conformance_tests.run.options import RunOptions
from veriformer.conformance_tests.run.ordering import most_revealing_first
from veriformer.conformance_tests.run.pace import Pace, Progress, duration, expected_calls
from veriformer.conformance_tests.run.runner import Run

EACH = 0.75


@dataclass
class Clock:
    """A clock that goes on only when something takes time."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


class Slow:
    """Operations each of whose calls takes three quarters of a second of a clock of its own."""

    def __init__(self, *, wrong: bool = False, set_up: float = 0.0, each_row: float = 0.0) -> None:
        self.clock = Clock()
        self.set_up, self.each_row = set_up, each_row
        self.calls: Counter[str] = Counter()
        self.wrong = wrong

    def softmax(self, x: np.ndarray) -> np.ndarray:
        self._take("softmax", x)
        e = np.exp(x.astype(np.float64) - x.max(axis=-1, keepdims=True))
        return (e / (e.sum(axis=-1, keepdims=True) + self.wrong)).astype(x.dtype)

    def silu(self, x: np.ndarray) -> np.ndarray:
        self._take("silu", x)
        return (x / (1 + np.exp(-x.astype(np.float64)))).astype(x.dtype)

    def _take(self, name: str, x: np.ndarray) -> None:
        self.calls[name] += 1
        self.clock.now += EACH if not self.each_row else self.each_row * (x.size // x.shape[-1])
        if sum(self.calls.values()) == 1:
            self.clock.now += self.set_up


def run_of(
    slow: Slow,
    budget: float | None,
    told: list[Progress] | None = None,
    when: Callable[[], None] = lambda: None,
    **settings: Any,
) -> Report:
    stopwatch = Stopwatch(slow.clock)
    implementation: Implementation = replace(load(slow), stopwatch=stopwatch)
    selection = Selection(("softmax", "silu"), **settings)
    run = Run(
        implementation,
        RunOptions(selection, progress=None if told is None else lambda progress: (told.append(progress), when())),
        pace=Pace(budget, slow.clock),
    )
    return run.report()


def statuses(report: Report) -> Counter[str]:
    return Counter(result.status for result in report.results)


def test_a_budget_ends_the_run_and_holds_nothing_for_what_was_not_tried() -> None:
    slow = Slow()
    report = run_of(slow, 200.0)
    found = statuses(report)
    assert found["passed"] > 3
    assert found["not_tried"] > 3
    assert set(found) == {"passed", "not_tried"}
    assert slow.clock.now - 1000 <= 200 + EACH
    assert report.verdict == "error"
    assert report.exit_status == 2
    assert report.counts["not_tried"] == found["not_tried"]
    assert report.counts["laws"] == sum(found.values())


def test_without_a_budget_however_slow_everything_is_tried() -> None:
    report = run_of(Slow(), None)
    assert statuses(report).keys() == {"passed"}
    assert report.counts["not_tried"] == 0
    assert (report.verdict, report.exit_status) == ("conforms", 0)


def test_a_budget_that_suffices_changes_nothing() -> None:
    enough, none = run_of(Slow(), 1e6), run_of(Slow(), None)
    assert [replace(r, seconds=0) for r in enough.results] == [replace(r, seconds=0) for r in none.results]
    assert enough.notices == none.notices
    assert enough.exit_status == 0


def test_the_most_revealing_laws_are_tried_first() -> None:
    report = run_of(Slow(), 150.0)
    tried = {result.law.id for result in report.results if result.status == "passed"}
    order = [
        law.id for law in most_revealing_first(laws().values()) if law.statement.operation.name in ("softmax", "silu")
    ]
    assert tried
    assert tried == set(order[: len(tried)])


def test_a_law_that_was_begun_and_not_ended_does_not_hold() -> None:
    report = run_of(Slow(), 5 * EACH, laws=("softmax.value",))
    (result,) = (result for result in report.results if result.law.id == "softmax.value")
    assert result.status == "not_tried"
    assert result.cases > 0
    assert f"after {result.cases} of its cases" in result.reason
    assert (report.verdict, report.exit_status) == ("error", 2)


def test_a_violation_counts_whatever_was_not_tried() -> None:
    slow = Slow(wrong=True)
    report = run_of(slow, 120.0)
    found = statuses(report)
    assert found["failed"]
    assert found["not_tried"]
    assert (report.verdict, report.exit_status) == ("violates", 1)
    # A smaller counterexample is not looked for when the time is over.
    assert slow.clock.now - 1000 < 120 + 5 * EACH


def test_what_is_not_declared_is_said_to_be_so_and_not_untried() -> None:
    run = Run(load("numpy"), RunOptions(Selection(("model", "softmax"))), pace=Pace(1.0, clock := Clock()))
    clock.now += 2
    found = {result.law.operation.name: result.status for result in run.report().results}
    assert found == {"model": "not_declared", "softmax": "not_tried"}


def test_an_expected_failure_that_was_not_tried_is_not_stale() -> None:
    slow = Slow()
    run = Run(
        load(slow),
        RunOptions(Selection(("softmax",)), ExpectedFailures((Entry("softmax.value", "known"),))),
        pace=Pace(1.0, slow.clock),
    )
    slow.clock.now += 2
    assert run.report().stale == ()


def test_every_form_of_the_report_says_what_was_not_tried() -> None:
    report = run_of(Slow(), 200.0)
    number = report.counts["not_tried"]
    written = report_as_json(report)
    assert written["verdict"] == "error"
    assert written["counts"]["not_tried"] == number
    assert sum(law["status"] == "not_tried" for law in written["laws"]) == number
    (sentence,) = (notice for notice in written["notices"] if "budget" in notice)
    assert sentence == (f"the budget of 200 s was spent; {number} laws were not tried, which says nothing about them")
    text = report_text(report)
    assert f"{number} not tried" in text
    assert "Not every law was tried: " in text
    assert f"{number} not tried" in short_tally(list(report.results))
    assert "hold" in short_tally(list(report.results))


def test_where_nothing_was_tried_no_law_was_judged() -> None:
    slow = Slow()
    run = Run(load(slow), RunOptions(Selection(("softmax",))), pace=Pace(1.0, slow.clock))
    slow.clock.now += 2
    report = run.report()
    assert "No law was judged: " in report_text(report)
    assert report.verdict == "error"
    assert not slow.calls


def test_the_user_hears_early_and_once_what_a_slow_run_will_take() -> None:
    told: list[Progress] = []
    slow = Slow()
    run_of(slow, None, told)
    forecasts = [(number, progress) for number, progress in enumerate(told) if progress.forecast]
    ((at, progress),) = forecasts
    assert at <= 6
    assert "a call takes about 0.75 s" in progress.forecast
    minutes = int(progress.forecast.split()[1])
    actual = (slow.clock.now - 1000) / 60
    assert actual / 2 < minutes < actual * 2
    assert "--budget" in progress.forecast


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("settings", [{"set_up": 600.0}, {"each_row": 0.01}, {"set_up": 60.0, "each_row": 0.02}])
def test_neither_setting_up_nor_the_size_of_later_calls_misleads(settings: dict[str, float], seed: int) -> None:
    told: list[Progress] = []
    slow = Slow(**settings)
    ends: list[float] = []
    run_of(slow, None, told, seed=seed, when=lambda: ends.append(slow.clock.now))
    ((at, progress),) = ((number, progress) for number, progress in enumerate(told) if progress.forecast)
    minutes = int(progress.forecast.split()[1])
    left = (slow.clock.now - ends[at]) / 60
    assert left / 2 < minutes < left * 2


def test_a_set_up_is_not_announced_as_a_long_run() -> None:
    told: list[Progress] = []
    run_of(Slow(set_up=10.0, each_row=1e-5), None, told)
    assert not any(progress.forecast for progress in told)


def test_with_a_budget_the_user_hears_what_it_leaves() -> None:
    told: list[Progress] = []
    run_of(Slow(), 100.0, told)
    (forecast,) = (progress.forecast for progress in told if progress.forecast)
    assert "the budget allows 100 s of it" in forecast


def test_what_is_fast_is_not_announced() -> None:
    told: list[Progress] = []
    check("numpy", operations=("softmax",), tier="quick", progress=told.append)
    assert told
    assert not any(progress.forecast for progress in told)


def test_where_each_shape_is_compiled_the_first_laws_do_not_tell() -> None:
    slow, first = Slow(), list(laws().values())[:6]
    pace, stopwatch = Pace(clock=slow.clock), Stopwatch(slow.clock)
    told = []
    for law in first:
        with pace.measuring(law, stopwatch):
            for _ in range(4):
                with stopwatch.timing():
                    slow.clock.now += EACH
        told.append((pace.can_tell(compiles=False), pace.can_tell(compiles=True)))
    assert told[:2] == [(False, False), (True, False)]
    assert [compiled for _, compiled in told].index(True) == 5


# The first law of an operation compiles most shapes: an average would make minutes of seconds.
def test_where_each_shape_is_compiled_a_law_in_the_middle_tells() -> None:
    slow, chosen = Slow(), [law for law in laws().values() if law.statement.operation.name == "softmax"]
    pace, stopwatch = Pace(clock=slow.clock), Stopwatch(slow.clock)
    for law, each in zip(chosen, (20.0, 4.0, 0.3, 0.3, 0.3), strict=False):
        with pace.measuring(law, stopwatch):
            for _ in range(4):
                with stopwatch.timing():
                    slow.clock.now += each
    left = chosen[5:]
    expected = duration(0.3 * expected_calls(left, Selection()))
    assert pace.forecast(left, Selection(), compiles=True).startswith(expected)


def test_the_number_of_calls_is_foretold_roughly() -> None:
    slow = Slow()
    run_of(slow, None)
    chosen = [law for law in laws().values() if law.statement.operation.name in ("softmax", "silu")]
    expected = expected_calls(chosen, Selection())
    assert sum(slow.calls.values()) / 1.6 < expected < sum(slow.calls.values()) * 1.6


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (20, "about 20 seconds"),
        (61, "about a minute"),
        (100, "about 2 minutes"),
        (240, "about 4 minutes"),
        (7300, "about 2 hours"),
    ],
)
def test_durations_are_said_roughly(seconds: float, words: str) -> None:
    assert duration(seconds) == words


@pytest.mark.parametrize("budget", [0.0, -1.0, float("nan"), float("inf")])
def test_a_budget_is_a_finite_number_of_seconds(budget: float) -> None:
    with pytest.raises(ValueError, match="finite number of seconds above 0"):
        check("numpy", budget=budget)


def test_what_was_not_tried_is_tried_when_the_run_is_resumed(tmp_path: Path) -> None:
    record = tmp_path / "run.jsonl"
    report = check("numpy", operations=("softmax",), tier="quick", budget=1e-9, resume=record)
    assert statuses(report).keys() == {"not_tried"}
    resumed = check("numpy", operations=("softmax",), tier="quick", resume=record)
    assert statuses(resumed).keys() == {"passed"}
    assert resumed.exit_status == 0


def test_workers_begin_nothing_when_the_budget_is_spent() -> None:
    report = check("numpy", operations=("softmax", "silu"), tier="quick", budget=1e-9, workers=1)
    assert statuses(report).keys() == {"not_tried"}
    assert report.exit_status == 2


def test_a_worker_ends_its_share_when_the_budget_is_spent() -> None:
    pace = Pace(100.0, clock := Clock())
    clock.now += 40
    assert pace.left == 60
    deadline = pace.deadline
    assert deadline is not None
    helper = Pace.until(deadline, 100.0)
    assert helper.left == pytest.approx(60, abs=5)
    assert Pace.until(deadline - 61, 100.0).is_spent()
    assert not Pace.until(None, None).is_spent()


def test_with_workers_the_user_hears_it_after_a_fifth_of_the_laws() -> None:
    pace = Pace(clock=Clock())
    assert pace.forecast_shared(30.0, 3, 10, workers=2) == ""
    # The longest laws come first, and say nothing of the others.
    assert pace.forecast_shared(40.0, 4, 100, workers=2) == ""
    assert pace.forecast_shared(250.0, 25, 96, workers=2).startswith("about 8 minutes: a law takes 10 s")
    assert pace.forecast_shared(260.0, 26, 95, workers=2) == ""


def test_a_namespace_of_operations_is_timed_too() -> None:
    watch = Stopwatch()
    implementation = replace(load(SimpleNamespace(softmax=Slow().softmax)), stopwatch=watch)
    check(implementation, laws=("softmax.value",), tier="quick")
    assert watch.calls >= 8


def test_what_is_owed_to_the_implementation_is_done_though_the_budget_be_spent() -> None:
    pace = Pace(1.0, clock := Clock())
    clock.now += 2
    with pace.suspended():
        assert not pace.is_spent()
    assert pace.is_spent()
