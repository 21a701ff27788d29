"""What is wrong is one problem for each mistake, at the user's line; what was checked is each declared law."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from veriformer.conformance_tests import check
from veriformer.conformance_tests.comparison.comparing import compare_implementations
from veriformer.conformance_tests.conventions.identification import identify
from veriformer.conformance_tests.ports.findings import Cause, Difference, PartPair, PortComparison
from veriformer.conformance_tests.recognition.findings import Departure, Part, Recognition, Suspected
from veriformer.conformance_tests.reports.exports.checks import could_not_run, report_outcome
from veriformer.conformance_tests.reports.exports.comparisons import comparison_outcome, ports_outcome
from veriformer.conformance_tests.reports.exports.identifications import identification_outcome
from veriformer.conformance_tests.reports.locations import Place
from veriformer.conformance_tests.run.expected_failures import ExpectedFailures
from veriformer.conformance_tests.run.model_report import model_report
from veriformer.conformance_tests.run.report import Report

WRONG = """\
import numpy as np


def softmax(x):
    e = np.exp(x)
    return e / e.sum(axis=-1, keepdims=True)


def silu(x):
    return np.tanh(no_such_name)
"""
RIGHT = WRONG.replace("np.exp(x)", "np.exp(x - x.max(axis=-1, keepdims=True))").partition("\n\n\ndef silu")[0]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("programs")
    (path / "wrong.py").write_text(WRONG)
    (path / "right.py").write_text(RIGHT)
    return path


@pytest.fixture(scope="module")
def report(folder: Path) -> Report:
    with np.errstate(all="ignore"):
        return check(str(folder / "wrong.py"), tier="quick")


def test_one_mistake_is_one_problem_at_its_definition(folder: Path, report: Report) -> None:
    mistake, crash = report_outcome(report).problems
    assert (mistake.rule, mistake.level, mistake.where) == ("softmax_no_max_subtraction", "error", "softmax")
    assert mistake.place == Place(str(folder / "wrong.py"), 4)
    assert set(mistake.laws) == {one.law.id for one in report.results if one.status == "failed"}
    assert mistake.sentence.endswith(f"{len(mistake.laws)} laws say so")
    assert "smallest case" in mistake.text
    assert crash.place == Place(str(folder / "wrong.py"), 10)
    assert "no_such_name" in crash.sentence


def test_each_declared_law_is_checked(report: Report) -> None:
    outcome = report_outcome(report)
    assert not outcome.conforms
    statuses = Counter(one.status for one in outcome.checked)
    counts = report.counts
    assert statuses == {"passed": counts["passed"], "failed": counts["failed"], "error": counts["errors"]}
    assert {one.group for one in outcome.checked} == {"softmax", "silu"}
    assert outcome.table is not None
    assert [row[0] for row in outcome.table.rows] == ["softmax", "silu"]
    assert outcome.sentence.endswith("; and 1 other problem")


def test_a_program_that_conforms_has_no_problem(folder: Path) -> None:
    outcome = report_outcome(check(str(folder / "right.py"), tier="quick", laws=("softmax.shift", "softmax.shape")))
    assert outcome.conforms
    assert outcome.problems == ()
    assert outcome.sentence.endswith("right.py conforms: 2 laws held")


def test_a_run_that_judged_nothing_is_no_success(folder: Path) -> None:
    outcome = report_outcome(check(str(folder / "right.py"), tier="quick", laws=("gelu.shape",)))
    assert [one.status for one in outcome.checked] == ["error"]
    assert not outcome.conforms
    spent = check(str(folder / "right.py"), laws=("softmax.*",), budget=1e-9)
    assert {one.status for one in report_outcome(spent).checked} == {"skipped"}
    assert "not tried" in report_outcome(spent).sentence


def test_an_expected_failure_is_a_note_and_skipped(folder: Path) -> None:
    known = folder / "known.txt"
    known.write_text("softmax.large_logits  # the maximum stays\nsoftmax.shape  # no longer\n")
    laws = ("softmax.large_logits", "softmax.shape")
    with np.errstate(all="ignore"):
        found = check(str(folder / "wrong.py"), tier="quick", laws=laws, expected_failures=ExpectedFailures.read(known))
    outcome = report_outcome(found)
    stale, note = sorted(outcome.problems, key=lambda one: one.level)
    assert (note.level, note.expected) == ("note", "the maximum stays")
    assert (stale.rule, stale.level) == ("stale_expected_failure", "error")
    statuses = {one.name: one.status for one in outcome.checked}
    assert statuses == {"softmax.large_logits": "skipped", "softmax.shape": "passed", "stale 1": "failed"}
    conforming = report_outcome(replace(found, stale=()))
    assert conforming.conforms
    assert conforming.sentence.endswith("1 law held; 1 failure expected")


def test_what_cannot_be_loaded_is_an_error_at_the_line_that_raised(folder: Path) -> None:
    broken = folder / "broken.py"
    broken.write_text("x = 1\nimport nothing_of_that_name\n")
    with pytest.raises(Exception, match="nothing_of_that_name") as raised:
        check(str(broken))
    outcome = could_not_run(str(broken), raised.value)
    assert not outcome.ran
    (problem,) = outcome.problems
    assert (problem.rule, problem.place) == ("could_not_run", Place(str(broken), 2))
    assert [one.status for one in outcome.checked] == ["error"]
    assert could_not_run("nope.py", ValueError("no file")).problems[0].place is None


def part(path: str, status: str = "holds") -> Part:
    return Part(path, "attention", 0, "attention, 4 heads", {}, status, 3, 3, 0)  # type: ignore[arg-type]


def departure(layer: int) -> Departure:
    scale = Suspected("scale_missing", "logits q·k without 1/√D", 1.0)
    return Departure(f"h.{layer}.attn", layer, "logits", "attention", "/m/gpt.py", 17, "Not divided", (scale,), 7)


def test_departures_of_layers_that_share_a_line_are_one_problem() -> None:
    parts = (part("wte"), part("h.0.attn", "departs"), part("h.1.attn", "departs"), part("x", "unrecognised"))
    wrong = (
        departure(0),
        departure(1),
        replace(departure(2), path="lm_head", layer=None, file="", line=0, suspects=()),
    )
    outcome = report_outcome(model_report("gpt", Recognition(parts, wrong, 4, 4, framework="torch")))
    known, unknown = outcome.problems
    assert (known.rule, known.place) == ("scale_missing", Place("/m/gpt.py", 17))
    assert "(2 layers)" in known.where
    assert (unknown.rule, unknown.place) == ("departs_in_logits", None)
    assert [(one.name, one.status) for one in outcome.checked] == [
        ("wte", "passed"),
        ("h.0.attn", "failed"),
        ("h.1.attn", "failed"),
        ("x", "skipped"),
        ("lm_head", "failed"),
    ]
    assert outcome.checked[1].place == Place("/m/gpt.py", 17)


def test_a_model_that_was_not_recognised_is_an_error() -> None:
    outcome = report_outcome(model_report("gpt", Recognition((part("h.0.attn"),), (), 10, 1)))
    assert not outcome.conforms
    assert [one.rule for one in outcome.problems] == ["not_recognised"]
    assert outcome.checked[0].status == "error"


def test_a_port_with_a_mistake_is_named_at_its_line(folder: Path) -> None:
    right, wrong = str(folder / "right.py"), str(folder / "wrong.py")
    with np.errstate(all="ignore"):
        outcome = comparison_outcome(compare_implementations(right, wrong, tier="quick"))
    (problem,) = outcome.problems
    assert (problem.rule, problem.place) == ("softmax_no_max_subtraction", Place(wrong, 4))
    assert [(one.name, one.status) for one in outcome.checked] == [("softmax", "failed")]
    assert f"wrong.py differs from {right} in softmax" in outcome.sentence
    same = comparison_outcome(compare_implementations(right, right, tier="quick"))
    assert (same.conforms, same.problems) == (True, ())
    assert [one.status for one in same.checked] == ["passed"]


def test_models_that_differ_fail_in_the_second_ones_file() -> None:
    cause = Cause("mistake", "scale_missing", "B does not divide", change="divide by √D")
    one = Difference("attn", "att", None, "logits", "attention", "/a.py", 3, "/b.py", 5, cause)
    pairs = (PartPair("attention", None, "attn", "att", "differs"), PartPair("norm", None, "n", "n", "same"))
    found = PortComparison("a", "b", ("torch", "jax"), ("float32", "float32"), "differ", 0.5, pairs, (one,))
    outcome = ports_outcome(found)
    (problem,) = outcome.problems
    assert problem.place == Place("/b.py", 5)
    assert "divide by √D" in problem.sentence
    assert [item.status for item in outcome.checked] == ["failed", "failed", "passed"]
    inside = ports_outcome(replace(found, verdict="inside", differences=(), inside=(one,)))
    assert inside.conforms
    assert {item.status for item in inside.checked} == {"passed", "skipped"}


def test_a_contradicted_declaration_is_a_problem(folder: Path) -> None:
    liar = folder / "liar.py"
    liar.write_text(
        "import numpy as np\nconventions = {'causal_alignment': 'bottom_right'}\n"
        "def causal_mask(query_length, key_length):\n"
        "    return np.tril(np.ones((query_length, key_length), dtype=bool))\n"
    )
    outcome = identification_outcome(identify(str(liar)))
    (problem,) = outcome.problems
    assert (problem.rule, problem.place) == ("causal_alignment", Place(str(liar), 3))
    assert not outcome.conforms
    assert outcome.table is not None
    assert outcome.table.rows[0][:2] == ("causal_alignment", "bottom_right")
