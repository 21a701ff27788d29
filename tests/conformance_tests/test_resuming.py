"""The file of `--resume`: what is taken from it, what is tried again, and which files are refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from veriformer.conformance_tests import Report, check
from veriformer.conformance_tests.core.selection import Selection
from veriformer.conformance_tests.reports.json_report import report_as_json
from veriformer.conformance_tests.run.pace import Progress
from veriformer.conformance_tests.run.resuming.record import RecordFile, UnusableRecord

SMALL = ("softmax", "gelu", "causal_mask")
WRONG = """
import helper
import numpy as np
def softmax(x):
    print("called")
    return helper.divided(np.exp(x))
"""
HELPER = "def divided(e):\n    return e / e.sum(axis=-1, keepdims=True)\n"


class Ended(Exception):
    """The run is ended in the middle."""


def found(report: Report) -> Any:
    """Return everything that a report says but how long it took."""

    def timeless(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: timeless(part) for name, part in value.items() if name != "seconds"}
        return [timeless(part) for part in value] if isinstance(value, list) else value

    return timeless(report_as_json(report)), report.findings


def ending_after(laws: int) -> Callable[[Progress], None]:
    """Return a listener that ends the run when so many laws are done."""

    def listen(told: Progress) -> None:
        if told.done == laws:
            raise Ended

    return listen


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def laws_in(path: Path) -> list[str]:
    return [line["law"] for line in lines(path) if "law" in line]


@pytest.fixture
def record(tmp_path: Path) -> Path:
    return tmp_path / "run.jsonl"


@pytest.fixture
def wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "helper.py").write_text(HELPER)
    (tmp_path / "wrong.py").write_text(WRONG)
    monkeypatch.chdir(tmp_path)
    return "wrong.py"


@pytest.mark.parametrize("workers", (0, 2))
def test_a_run_goes_on_where_it_was_ended(record: Path, workers: int) -> None:
    with pytest.raises(Ended):
        check("numpy", operations=SMALL, tier="quick", resume=record, progress=ending_after(11), workers=workers)
    before = laws_in(record)
    assert len(before) in (11, 10)
    told: list[Progress] = []
    report = check("numpy", operations=SMALL, tier="quick", resume=record, progress=told.append, workers=workers)
    assert found(report) == found(check("numpy", operations=SMALL, tier="quick"))
    # Each law was tried once, in one of the two.
    assert sorted(laws_in(record)) == sorted(result.law.id for result in report.results)
    assert not {one.law for one in told} & set(before)
    assert told[0].done == len(before)
    assert told[0].total == len(report.results)


def test_a_run_that_is_over_is_not_repeated(record: Path) -> None:
    first = check("numpy", operations=SMALL, tier="quick", resume=record)
    written = record.read_bytes()
    second = check("numpy", operations=SMALL, tier="quick", resume=str(record), progress=ending_after(0))
    assert found(first) == found(second)
    assert record.read_bytes() == written


def test_what_failed_is_tried_again(record: Path, wrong: str) -> None:
    first = check(wrong, operations=("softmax",), tier="quick", resume=record)
    failed = [result.law.id for result in first.results if result.status == "failed"]
    told: list[Progress] = []
    second = check(wrong, operations=("softmax",), tier="quick", resume=record, progress=told.append)
    assert found(first) == found(second)
    assert first.diagnoses
    assert any("printed" in notice for notice in second.notices)
    assert sorted(one.law for one in told if one.law) == sorted(failed)


def test_a_line_that_was_not_finished_is_not_read(record: Path) -> None:
    check("numpy", operations=SMALL, tier="quick", resume=record)
    whole = record.read_bytes()
    record.write_bytes(whole[:-9])
    report = check("numpy", operations=SMALL, tier="quick", resume=record)
    assert found(report) == found(check("numpy", operations=SMALL, tier="quick"))
    assert sorted(laws_in(record)) == sorted(result.law.id for result in report.results)


def test_every_beginning_of_a_file_is_one_that_can_be_resumed(tmp_path: Path) -> None:
    whole = tmp_path / "whole.jsonl"
    check("numpy", operations=("causal_mask",), tier="quick", resume=whole)
    text, part = whole.read_bytes(), tmp_path / "part.jsonl"
    # The first line is written whole or not at all.
    first = text.index(b"\n") + 1
    for length in (0, *range(first, len(text))):
        part.write_bytes(text[:length])
        RecordFile(part, Selection(("causal_mask",), effort="quick"), ("numpy",))
        assert text.startswith(part.read_bytes()[: length or first])
        assert part.read_bytes().endswith(b"\n")


@pytest.mark.parametrize(
    ("changed", "sentence"),
    (
        ({"seed": 1}, r"another run \(seed: 0, now: 1\)"),
        ({"tier": "standard"}, r"\(tier: quick, now: standard\)"),
        ({"dtypes": ("float64",)}, r"\(dtypes: not restricted, now: float64\)"),
        ({"operations": ("softmax",)}, r"\(operations: causal_mask, now: softmax\)"),
        ({"laws": ("causal_mask.*",)}, r"\(laws: not restricted, now: causal_mask"),
    ),
)
def test_the_record_of_another_selection_is_refused(record: Path, changed: dict[str, Any], sentence: str) -> None:
    check("numpy", operations=("causal_mask",), tier="quick", resume=record)
    written = record.read_bytes()
    selection: dict[str, Any] = {"operations": ("causal_mask",), "tier": "quick"}
    with pytest.raises(UnusableRecord, match=sentence):
        check("numpy", **selection | changed, resume=record)
    assert record.read_bytes() == written


def test_the_record_of_another_implementation_is_refused(record: Path, wrong: str) -> None:
    check("numpy", operations=("softmax",), tier="quick", resume=record)
    with pytest.raises(UnusableRecord, match=r"\(implementations: numpy, now: wrong.py\)"):
        check(wrong, operations=("softmax",), tier="quick", resume=record)


@pytest.mark.parametrize("edited", ("wrong.py", "helper.py"))
def test_the_record_of_files_that_were_others_is_refused(record: Path, wrong: str, edited: str) -> None:
    check(wrong, laws=("softmax.shape",), tier="quick", resume=record)
    Path(edited).write_text(Path(edited).read_text() + "# edited\n")
    with pytest.raises(UnusableRecord, match=r"was written for another version of wrong\.py"):
        check(wrong, laws=("softmax.shape",), tier="quick", resume=record)


def test_another_version_is_refused(record: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check("numpy", operations=("causal_mask",), tier="quick", resume=record)
    monkeypatch.setattr("veriformer.conformance_tests.core.fingerprint.version_of", lambda _: "9.9")
    with pytest.raises(UnusableRecord, match=r"now .* veriformer 9\.9"):
        check("numpy", operations=("causal_mask",), tier="quick", resume=record)


@pytest.mark.parametrize("text", ("# Notes\n", "notes", "[1]\n", '{"schema": 1}\n', "\0\0", "\n"))
def test_a_foreign_file_is_refused_and_left_as_it_is(record: Path, text: str) -> None:
    record.write_text(text)
    with pytest.raises(UnusableRecord, match="is not the record of a run, and is left as it is"):
        check("numpy", operations=("causal_mask",), tier="quick", resume=record)
    assert record.read_text() == text


PASSED = (
    '{{"implementation": "numpy", "law": "softmax.shape", "status": "passed", "cases": {cases}, "seconds": {seconds}, '
    '"largest_excess": 0, "reason": "", "printed": ""}}'
)


@pytest.mark.parametrize(
    ("line", "sentence"),
    (
        ("not JSON", "line 3 was not written by a run of this program: it is not JSON"),
        ("[]", "line 3 .* it is not an object"),
        ("{}", "line 3 .* it names no implementation"),
        (
            '{"implementation": "numpy", "law": "softmax.of_nothing", "status": "passed"}',
            "it names no law or no status",
        ),
        (
            '{"implementation": "numpy", "law": "softmax.shape", "status": "passed"}',
            "its 'cases' is not a finite number",
        ),
        (PASSED.format(cases=8, seconds="NaN"), "it is not JSON"),
        (PASSED.format(cases=8, seconds="-Infinity"), "it is not JSON"),
        (PASSED.format(cases="1e400", seconds=0.1), "its 'cases' is not a finite number"),
        ('{"implementation": "numpy", "operation": "softmax", "findings": [3]}', "its findings are not"),
        ('{"implementation": "numpy", "operation": "soft", "findings": []}', "it names no operation"),
    ),
)
def test_a_broken_line_is_named(record: Path, line: str, sentence: str) -> None:
    check("numpy", operations=("causal_mask",), tier="quick", resume=record)
    first, second, _, *others = record.read_text().splitlines()
    broken = "\n".join((first, second, line, *others)) + "\n"
    record.write_text(broken)
    with pytest.raises(UnusableRecord, match=sentence):
        check("numpy", operations=("causal_mask",), tier="quick", resume=record)
    assert record.read_text() == broken


def test_a_file_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(UnusableRecord, match=r"cannot open .*, the record of the run"):
        check("numpy", operations=("causal_mask",), tier="quick", resume=tmp_path)
    with pytest.raises(UnusableRecord, match="the record of the run: No such file"):
        check("numpy", operations=("causal_mask",), tier="quick", resume=tmp_path / "nowhere" / "run.jsonl")
