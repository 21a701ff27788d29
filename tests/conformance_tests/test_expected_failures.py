"""Expected failures excuse what they name; an entry that is not true any more is a violation."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from veriformer.conformance_tests import Report, check
from veriformer.conformance_tests.core.law_result import LawResult
from veriformer.conformance_tests.core.selection import Selection
from veriformer.conformance_tests.reports.law_tests import law_tests
from veriformer.conformance_tests.run.expected_failures import Entry, ExpectedFailures, UnreadableList
from veriformer.conformance_tests.run.options import RunOptions

Array = np.ndarray


def right_softmax(x: Array) -> Array:
    exponentials = np.exp(x - x.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def result(report: Report, law: str) -> LawResult:
    (found,) = (result for result in report.results if result.law.id == law)
    return found


def too_large(x: Array) -> Array:
    return right_softmax(x) * np.float32(1.01)


def with_expected(*entries: Entry, laws: tuple[str, ...] = ("softmax.value", "softmax.nonnegative")) -> Report:
    expected = ExpectedFailures(entries)
    return check(SimpleNamespace(softmax=too_large), laws=laws, tier="quick", expected_failures=expected)


def test_an_expected_failure_is_excused_and_still_shown() -> None:
    report = with_expected(Entry("softmax.value", "the kernel rounds up"))
    assert report.verdict == "conforms"
    assert result(report, "softmax.value").status == "failed"
    assert result(report, "softmax.value").expected_failure == "the kernel rounds up"
    assert report.counts["failed"] == 1


def test_an_expected_failure_of_another_implementation_excuses_nothing() -> None:
    report = with_expected(Entry("softmax.value", "the kernel rounds up", implementation="torch"))
    assert report.verdict == "violates"
    assert report.stale == ()


def test_an_expected_failure_that_passes_is_stale_and_a_violation() -> None:
    report = with_expected(Entry("softmax.value", "known"), Entry("softmax.nonnegative", "known", line=7))
    assert report.verdict == "violates"
    (sentence,) = report.stale
    assert sentence == "line 7: softmax.nonnegative is expected to fail but is passed; remove the line"


def test_an_expected_failure_of_no_law_is_stale() -> None:
    report = with_expected(Entry("softmax.value", "known"), Entry("softmax.valeu", "known", line=2))
    assert report.verdict == "violates"
    assert report.stale == ("line 2: no law is called 'softmax.valeu'; remove the line",)


def test_an_expected_failure_that_was_not_tried_is_not_stale() -> None:
    report = with_expected(Entry("softmax.value", "known"), Entry("softmax.shift", "known"))
    assert report.stale == ()
    assert report.verdict == "conforms"


def test_an_expected_failure_of_what_is_not_declared_is_stale() -> None:
    entry = Entry("layer_norm.value", "known", line=3)
    report = with_expected(Entry("softmax.value", "known"), entry, laws=("softmax.value", "layer_norm.value"))
    assert report.stale == ("line 3: layer_norm.value is expected to fail but is not declared; remove the line",)


def test_a_list_is_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "expected.txt"
    path.write_text("# comment\n\nsoftmax.value  # rounds up\ntorch:softmax.shift # other\n", encoding="utf-8")
    assert ExpectedFailures.read(path).entries == (
        Entry("softmax.value", "rounds up", None, 3),
        Entry("softmax.shift", "other", "torch", 4),
    )


@pytest.mark.parametrize("line", ("softmax.value", "softmax.value #", "softmax.value # ", "two words # reason", "x"))
def test_a_line_without_a_reason_is_refused_with_its_number(tmp_path: Path, line: str) -> None:
    path = tmp_path / "expected.txt"
    path.write_text(f"# heading\n{line}\n", encoding="utf-8")
    with pytest.raises(UnreadableList, match=r"line 2: expected 'LAW_ID  # reason'"):
        ExpectedFailures.read(path)


def test_a_list_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UnreadableList, match="cannot read the expected failures"):
        ExpectedFailures.read(tmp_path / "absent.txt")


@pytest.mark.parametrize(("reason", "conforms"), [("at some seeds: rounding", True), ("rounding", False)])
def test_an_entry_whose_law_holds(reason, conforms):
    law = next(result.law.id for result in check("numpy", operations=["gelu"], tier="quick").results)
    expected = ExpectedFailures((Entry(law, reason),))
    report = check("numpy", laws=[law], tier="quick", expected_failures=expected)
    assert (report.exit_status == 0) is conforms
    assert bool(report.stale) is not conforms


def test_an_entry_of_some_seeds_is_stale_when_its_law_is_not_declared():
    class OnlySilu:
        framework = "numpy"

        def silu(self, x):
            return x

    law = next(result.law.id for result in check("numpy", operations=["gelu"], tier="quick").results)
    expected = ExpectedFailures((Entry(law, "at some seeds: rounding"),))
    assert check(OnlySilu(), laws=[law], tier="quick", expected_failures=expected).stale


def test_under_pytest_a_law_that_holds_passes():
    law = next(result.law.id for result in check("numpy", operations=["gelu"], tier="quick").results)
    expected = ExpectedFailures((Entry(law, "at some seeds: rounding"),))
    (test,) = law_tests("numpy", RunOptions(Selection(laws=(law,), effort="quick"), expected))
    assert test().status == "passed"


def test_a_byte_order_mark_is_no_part_of_a_law(tmp_path: Path) -> None:
    file = tmp_path / "expected.txt"
    file.write_bytes("\ufeffsoftmax.shape  # because\n".encode())
    assert [entry.law for entry in ExpectedFailures.read(file).entries] == ["softmax.shape"]
