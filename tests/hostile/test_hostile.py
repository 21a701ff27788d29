"""Hostile implementations: each gets its verdict, and none of them the run."""

from __future__ import annotations

import os
import random
import re
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from veriformer.adapters.errors import LoadError
from veriformer.adapters.isolation.limits import ProcessLimits
from veriformer.adapters.isolation.loading import load_isolated
from veriformer.conformance_tests import check
from veriformer.conformance_tests.run.report import Report

pytestmark = pytest.mark.long

IMPLEMENTATIONS = Path(__file__).parent / "implementations"
HELPERS = {"plain"}
FEW = ("softmax.shape", "softmax.value", "softmax.rows_sum_to_one")
LONGEST_RUN = 20.0


class Expected(NamedTuple):
    """What becomes of a law: which, with what status, for a reason that has these words."""

    kind: str
    status: str
    law: str = ""
    words: str = ""
    laws: tuple[str, ...] = FEW


def _read() -> dict[str, Expected]:
    told = tomllib.loads((Path(__file__).parent / "verdicts.toml").read_text(encoding="utf-8"))
    return {name: Expected(**{**entry, "laws": tuple(entry.get("laws", FEW))}) for name, entry in told.items()}


VERDICTS = _read()
TABLE = {name: expected for name, expected in VERDICTS.items() if expected.law}
UNLOADABLE = {name: expected.words for name, expected in VERDICTS.items() if not expected.law}


def run(name: str, laws: tuple[str, ...] = FEW, *, isolate: bool = True, time_limit: float = 1.0) -> Report:
    return check(
        str(IMPLEMENTATIONS / f"{name}.py"),
        laws=laws,
        tier="quick",
        diagnosis=False,
        isolate=isolate,
        time_limit=time_limit,
        memory_limit=2**27,
    )


def state() -> tuple[object, ...]:
    position = np.random.get_state()
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
    return np.geterr(), os.getcwd(), environment, random.getstate(), position[1].tobytes(), position[2]


@pytest.fixture(autouse=True)
def the_suite_is_left_alone() -> Iterator[None]:
    """Whatever an implementation does, it does to its own process, and does not take for ever."""
    before, functions, started = state(), (np.exp, np.allclose, np.abs), time.monotonic()
    yield
    assert state() == before
    assert (np.exp, np.allclose, np.abs) == functions
    assert time.monotonic() - started < LONGEST_RUN


def test_every_implementation_is_in_the_table() -> None:
    names = {path.stem for path in IMPLEMENTATIONS.glob("*.py")}
    assert names == {*TABLE, *UNLOADABLE, *HELPERS}
    assert len(TABLE) >= 25


@pytest.mark.parametrize("name", TABLE)
def test_a_hostile_implementation_gets_its_verdict(name: str) -> None:
    if name == "torch_dtype":
        pytest.importorskip("torch")
    expected = TABLE[name]
    # In a fresh process a call may take half of the limit, on a busy machine as well.
    report = run(name, expected.laws, time_limit=2.0 if "fresh one" in expected.words else 1.0)
    results = {result.law.id: result for result in report.results}
    assert set(results) == set(expected.laws)
    result = results[expected.law]
    assert (result.status, expected.words in result.reason) == (expected.status, True), result.reason


@pytest.mark.parametrize("name", UNLOADABLE)
def test_what_cannot_be_loaded_is_one_sentence(name: str) -> None:
    with pytest.raises(LoadError, match=UNLOADABLE[name]):
        load_isolated(str(IMPLEMENTATIONS / f"{name}.py"), ProcessLimits(loading=3.0))


def test_two_hangs_are_enough() -> None:
    laws = (*FEW, "softmax.shift", "softmax.permutation")
    started = time.monotonic()
    results = run("hangs", laws, time_limit=0.5).results
    hung = [result for result in results if "did not return within 0.5 s;" in result.reason]
    untried = [result for result in results if "was not tried, since 2 calls did not return" in result.reason]
    assert (len(hung), len(untried)) == (2, 3)
    assert all(result.counterexample is not None for result in hung)
    assert time.monotonic() - started < 6


@pytest.mark.parametrize("law", ["softmax.value", "softmax.large_logits"])
def test_a_counterexample_is_not_made_smaller_by_hanging(law: str) -> None:
    """An exponential that is not divided by anything is shown with one number, or two; those are what hangs here."""
    (result,) = run("hangs_where_it_is_small", (law,), time_limit=0.5).results
    assert result.status == "failed"
    assert result.counterexample is not None
    for call in result.counterexample.calls:
        assert call.result is not None
        assert np.size(call.arguments["x"]) > 2


def test_it_tells_where_a_call_hung_or_crashed() -> None:
    for name, line in (("hangs", 5), ("segmentation_fault", 7)):
        traceback = run(name, ("softmax.value",), time_limit=0.5).results[0].traceback
        assert f'{name}.py", line' in traceback
        assert f"line {line}" in traceback or f"line {line + 1}" in traceback
        assert "isolation" not in traceback


def test_output_is_kept_for_the_notice_and_made_harmless() -> None:
    (notice,) = run("terminal_escapes", ("softmax.value",)).notices
    assert notice == r"softmax printed while it was called, beginning with '\x1b[2J\x1b]0;taken over\x07'"


def test_who_looks_for_the_laws_on_the_stack_finds_them_only_without_isolation() -> None:
    assert run("right_when_judged", isolate=False).results[0].status == "passed"
    assert all(result.status == "passed" for result in run("right_when_judged", isolate=False).results)
    assert any(result.status == "failed" for result in run("right_when_judged").results)


MANY = ("softmax.*",)


def dying(folder: Path, name: str, few: str, many: str) -> Report:
    """Return the report of a program that survives another number of calls than the one in the table."""
    source = (IMPLEMENTATIONS / f"{name}.py").read_text()
    assert few in source
    (folder / f"{name}.py").write_text(source.replace(few, many))
    (folder / "plain.py").write_text((IMPLEMENTATIONS / "plain.py").read_text())
    return check(str(folder / f"{name}.py"), laws=MANY, tier="quick", isolate=True, time_limit=3.0, memory_limit=2**27)


@pytest.mark.parametrize(
    ("name", "few", "many", "how"),
    [
        ("leaks", "2**21", "2**19", "softmax raised MemoryError"),
        ("dies_of_calls", "== 8", "== 40", "softmax ended its process with status 9"),
        ("slows_down", "== 8", "== 160", "softmax did not return within"),
    ],
)
def test_what_calls_leave_behind_is_one_finding(tmp_path: Path, name: str, few: str, many: str, how: str) -> None:
    """The call that was not survived is put to a fresh process, and the laws go on there."""
    report = dying(tmp_path, name, few, many)
    errors = [result for result in report.results if result.status == "error"]
    assert [result.status for result in report.results if result.status not in ("passed", "not_declared")] == ["error"]
    assert errors[0].reason.startswith(how)
    assert re.search(r"after \d+ calls in one process, and answers the same call in a fresh one", errors[0].reason)
    assert (errors[0].answered, errors[0].counterexample) == (False, None)
    assert (report.verdict, report.exit_status, report.notices) == ("violates", 1, ())


def test_what_dies_of_few_calls_is_given_up_in_the_end(tmp_path: Path) -> None:
    report = dying(tmp_path, "dies_of_calls", "== 8", "== 2")
    reasons = [result.reason for result in report.results if result.status == "error"]
    assert any("after 1 call in one process, and answers the same" in notice for notice in report.notices)
    assert any("was not tried, since 5 calls ended their process" in reason for reason in reasons)
    assert report.diagnoses == ()


def test_nobody_is_accused_of_a_mistake_for_a_hang() -> None:
    report = check(str(IMPLEMENTATIONS / "hangs.py"), laws=MANY, tier="quick", isolate=True, time_limit=0.5)
    assert report.diagnoses == ()
    assert {result.status for result in report.results} <= {"error", "not_declared", "passed"}
