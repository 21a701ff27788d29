"""What changed between two reports: read from pages and from JSON, with a clear error for what is neither."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from html_pages import Parsed, is_in_order
from veriformer.conformance_tests.conventions.identification import Identification, Identified
from veriformer.conformance_tests.core.law_result import LawResult
from veriformer.conformance_tests.diagnosis.diagnosis import Diagnosis, Suspect
from veriformer.conformance_tests.ports.findings import Cause, Difference, PortComparison
from veriformer.conformance_tests.recognition.findings import Departure, Part, Recognition, Suspected
from veriformer.conformance_tests.reports.changes.comparing import Changes, NotComparable, changes_between
from veriformer.conformance_tests.reports.changes.presenting import change_lines
from veriformer.conformance_tests.reports.changes.reading import UnreadableReport, read_report
from veriformer.conformance_tests.reports.html.changes_page import changes_page
from veriformer.conformance_tests.reports.html.pages import check_page, identification_page, port_page
from veriformer.conformance_tests.reports.json_report import report_as_json, write_json
from veriformer.conformance_tests.reports.layout import as_text
from veriformer.conformance_tests.run.model_report import model_report
from veriformer.conformance_tests.run.report import Report
from veriformer.spec.laws import LAWS

Statuses = dict[str, Any]
Compare = Callable[[str, str], Changes]


def report(statuses: Statuses, mistake: str = "", name: str = "my.py") -> Report:
    """Return a report on laws of softmax, the broken ones with a mistake where one is given."""
    results = tuple(LawResult(LAWS[f"softmax.{key}"], status, 3) for key, status in statuses.items())
    broken = tuple(result.law.id for result in results if result.status == "failed")
    diagnosis = Diagnosis("softmax", "reproduced", (Suspect((mistake,), 1.0),), broken)
    return Report(name, "numpy", 0, "quick", results, diagnoses=(diagnosis,) if mistake else ())


@pytest.fixture
def compare(tmp_path: Path) -> Compare:
    """Return what changed from one page to another."""

    def compared(old: str, new: str) -> Changes:
        for name, page in (("old.html", old), ("new.html", new)):
            (tmp_path / name).write_text(page, encoding="utf-8")
        return changes_between(read_report(tmp_path / "old.html"), read_report(tmp_path / "new.html"))

    return compared


def found(changes: Changes) -> list[tuple[str, str]]:
    return [(change.what, change.name) for change in changes.changes]


OLD = report({"shape": "passed", "shift": "failed", "value": "failed", "dtype": "passed"}, "log_softmax_returned")
NEW = report({"shape": "failed", "shift": "passed", "value": "failed", "dtype": "not_tried"}, "softmax_wrong_axis")


def test_each_kind_of_change_is_found(compare: Compare) -> None:
    changes = compare(check_page([OLD]), check_page([NEW]))
    assert found(changes) == [
        ("newly broken", "softmax.shape"),
        ("mended", "softmax.shift"),
        ("otherwise named", "softmax.value"),
        ("no longer tried", "softmax.dtype"),
    ]
    assert changes.exit_status == 1
    assert changes.sentence == ("1 newly broken, 1 mended, 1 otherwise named, 1 no longer tried, 1 still broken")


def test_a_terminal_shows_each_with_its_name(compare: Compare) -> None:
    text = as_text(change_lines(compare(check_page([OLD]), check_page([NEW])), 100))
    assert "✗ softmax.shape   softmax_wrong_axis" in text
    assert "✓ softmax.shift   it was log_softmax_returned" in text
    assert "≠ softmax.value   softmax_wrong_axis, before log_softmax_returned" in text


def test_a_page_shows_the_same(compare: Compare) -> None:
    page = changes_page(compare(check_page([OLD]), check_page([NEW])), "old <b>.html", "new.html")
    assert is_in_order(page)
    text = Parsed(page).text
    assert "Newly broken" in text
    assert LAWS["softmax.shape"].statement in text
    assert "old <b>.html" in text
    assert Parsed(page).data["kind"] == "diff"


def test_a_page_and_json_of_one_run_say_the_same(tmp_path: Path) -> None:
    write_json(tmp_path / "one.json", [report_as_json(OLD)])
    (tmp_path / "one.html").write_text(check_page([OLD]), encoding="utf-8")
    changes = changes_between(read_report(tmp_path / "one.json"), read_report(tmp_path / "one.html"))
    assert (found(changes), changes.exit_status) == ([], 0)
    assert changes.sentence == "2 still broken"


def test_nothing_broken_and_nothing_changed(compare: Compare) -> None:
    page = check_page([report({"shape": "passed"})])
    assert compare(page, page).sentence == "Nothing changed, and nothing is broken"


def test_a_law_that_was_not_tried_before_is_newly_broken(compare: Compare) -> None:
    old, new = report({"shape": "not_declared", "shift": "passed"}), report({"shape": "failed", "shift": "passed"})
    assert found(compare(check_page([old]), check_page([new]))) == [("newly broken", "softmax.shape")]


def test_an_expected_failure_is_not_broken(compare: Compare) -> None:
    new = report({"shape": "failed"})
    known = replace(new, results=tuple(replace(one, expected_failure="known") for one in new.results))
    assert compare(check_page([report({"shape": "passed"})]), check_page([known])).exit_status == 0


def test_what_can_no_longer_be_loaded_is_newly_broken(compare: Compare) -> None:
    changes = compare(check_page([report({"shape": "passed"})]), check_page([], [("my.py", "no module x")]))
    assert found(changes) == [("newly broken", "it can be loaded"), ("no longer tried", "softmax.shape")]


def test_other_names_are_said(compare: Compare) -> None:
    changes = compare(check_page([report({"shape": "passed"})]), check_page([report({"shape": "passed"}, name="b.py")]))
    assert changes.notices == ("the reports are of two different things: my.py, then b.py",)


def test_several_are_matched_by_name(compare: Compare) -> None:
    held, broken = {"shape": "passed"}, {"shape": "failed"}
    old = check_page([report(held, name="a.py"), report(held, name="b.py"), report(held, name="c.py")])
    new = check_page([report(broken, name="b.py"), report(held, name="a.py"), report(held, name="d.py")])
    changes = compare(old, new)
    assert [(change.subject, change.what) for change in changes.changes] == [("b.py", "newly broken")]
    assert changes.notices == ("c.py is in the old report only", "d.py is in the new report only")


def model(*mistakes: str) -> str:
    """Return the page of a model that departs in as many layers as there are mistakes."""
    departures = tuple(
        Departure(
            f"h.{layer}.attn", layer, "logits", "self_attention", "", 0, "said", (Suspected(name, "said", 1.0),), 1
        )
        for layer, name in enumerate(mistakes)
    )
    part = Part("h.0.attn", "multi_head_attention", 0, "attention", {}, "holds", 1, 1, 1)
    return check_page([model_report("gpt.py", Recognition((part,), departures, 10, 10))])


def test_departures_of_a_model(compare: Compare) -> None:
    assert found(compare(model("scale_missing"), model())) == [("mended", "h.0.attn: logits")]
    changes = compare(model("scale_missing"), model("scale_applied_twice", "scale_missing"))
    assert found(changes) == [("otherwise named", "h.0.attn: logits"), ("newly broken", "h.1.attn: logits")]


def port(*causes: str) -> str:
    differences = tuple(
        Difference(f"a.{name}", f"b.{name}", None, "norm", "", "", 0, "", 0, Cause("weight", name, "said"))
        for name in causes
    )
    found = PortComparison(
        "a.py", "b.py", ("torch", "flax"), ("float32", "float32"), "differ" if causes else "agree", 0.5
    )
    return port_page(replace(found, differences=differences))


def test_differences_of_a_port(compare: Compare) -> None:
    changes = compare(port("transposed"), port())
    assert found(changes) == [("mended", "their results agree"), ("mended", "b.transposed: norm")]
    assert compare(port(), port("transposed")).exit_status == 1


def identified(value: str, told: Any) -> str:
    item = Identified("softmax", "softmax_dtype", value, "declared", told)
    return identification_page([Identification("my.py", "numpy", (item,), ("softmax",))])


def test_answers_of_identify(compare: Compare) -> None:
    name = "softmax_dtype of softmax"
    assert found(compare(identified("input", "told"), identified("float32", "told"))) == [("otherwise named", name)]
    assert found(compare(identified("input", "told"), identified("input", "contradicted"))) == [("newly broken", name)]
    assert found(compare(identified("input", "told"), identified("input", "untold"))) == [("no longer tried", name)]


def test_reports_of_two_kinds_are_not_compared(compare: Compare) -> None:
    with pytest.raises(
        NotComparable, match="the old report is of veriformer check, the new one of veriformer identify"
    ):
        compare(check_page([OLD]), identified("input", "told"))


WHOLE = json.dumps(report_as_json(OLD))


@pytest.mark.parametrize(
    ("text", "said"),
    (
        ("", "it is no JSON, and no page with the element veriformer-data"),
        ("<p>no report</p>", "it is no JSON, and no page with the element veriformer-data"),
        ('{"schema": 1', "its data is no JSON"),
        ('<script id="veriformer-data">[]</script>', "its data is no object"),
        ('{"schema": 7}', "has schema 7, and this version reads 1"),
        ("{}", "has schema none"),
        ('{"schema": 1, "laws": [{}], "implementation": "a"}', "is no complete report"),
        ('{"schema": 1, "reports": 3}', "is no complete report"),
        ('{"schema": 1, "kind": "diff", "reports": []}', "is a page about changes"),
        (WHOLE[: len(WHOLE) // 2], "its data is no JSON"),
    ),
)
def test_what_is_no_report_is_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "file").write_text(text)
    with pytest.raises(UnreadableReport, match=said):
        read_report(tmp_path / "file")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    for name, said in (("nothing", "No such file"), ("binary", "not a text in UTF-8"), (".", "cannot read")):
        with pytest.raises(UnreadableReport, match=said):
            read_report(tmp_path / name)
