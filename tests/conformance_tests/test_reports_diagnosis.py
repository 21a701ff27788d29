"""How a diagnosis is told: on the console and in JSON, with how sure it is and no more than that."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from veriformer.conformance_tests import check
from veriformer.conformance_tests.conventions.profile import Finding
from veriformer.conformance_tests.core.law_result import LawResult
from veriformer.conformance_tests.diagnosis.diagnosis import Diagnosis, Suspect
from veriformer.conformance_tests.mistakes import catalogue
from veriformer.conformance_tests.reports.console import DEFAULTS, details, law_text, report_text
from veriformer.conformance_tests.reports.json_report import report_as_json
from veriformer.conformance_tests.reports.layout import as_text
from veriformer.conformance_tests.reports.options import Options
from veriformer.conformance_tests.run.expected_failures import ExpectedFailures
from veriformer.conformance_tests.run.report import Report
from veriformer.spec.laws import LAWS

BASE_IGNORED = Suspect(("rope_theta_ignored",), 1.0, (("base", "rope_theta_ignored"),))
BOTH = Suspect(
    ("rope_sign_flipped", "rope_theta_ignored"),
    0.9,
    (("turn", "rope_sign_flipped"), ("base", "rope_theta_ignored")),
)


def diagnosis(*suspects: Suspect, how: Any = "reproduced", law: str = "rotary.base", **more: Any) -> Diagnosis:
    return Diagnosis(LAWS[law].operation.name, how, suspects, (law,), **more)


def report(*diagnoses: Diagnosis, findings: tuple[Finding, ...] = ()) -> Report:
    failed = tuple(LawResult(LAWS[law], "failed", 9) for found in diagnoses for law in found.laws)
    return Report("my.py", "numpy", 0, "standard", failed, findings=findings, diagnoses=diagnoses)


def told(*diagnoses: Diagnosis, options: Options = DEFAULTS, **more: Any) -> str:
    """Return what is told of the last operation's mistake, as one line of single spaces."""
    _, _, text = report_text(report(*diagnoses, **more), options).rpartition("Diagnosis")
    return " ".join(text.removeprefix(":").split("law held")[0].split())


def test_one_mistake_that_fits_alone_is_certain() -> None:
    text = told(diagnosis(BASE_IGNORED))
    known = catalogue()["rope_theta_ignored"]
    assert "those of `rope_theta_ignored` (certain: no other known mistake fits)" in text
    assert f"{known.sentence}; hidden when {known.hidden_when}." in text
    verbose = told(diagnosis(BASE_IGNORED), options=Options(verbose=True))
    assert f"{known.sentence}." in verbose
    assert f"hidden when {known.hidden_when}" in verbose
    assert f"met in {known.citations[0].issue}" in verbose
    assert "veriformer explain rope_theta_ignored" in text


def test_the_evidence_is_shown_when_asked_for() -> None:
    found = diagnosis(BASE_IGNORED, calls=24, excluded=83)
    assert "24 calls, 83 other known decisions" in told(found, options=Options(verbose=True))
    assert "24 calls" not in told(found)
    assert all(
        one.issue in told(found, options=Options(verbose=True)) for one in catalogue()["rope_theta_ignored"].citations
    )


@pytest.mark.parametrize(("how", "words"), [("declared", "is declared"), ("inferred", "was inferred")])
def test_a_convention_that_is_left_is_told_from_the_one_that_was_due(how: str, words: str) -> None:
    finding = Finding("causal_mask", "causal_alignment", "top_left", how)
    suspect = Suspect(("causal_top_left_vs_bottom_right",), 1.0, (("causal_alignment", "bottom_right"),))
    text = told(diagnosis(suspect, law="causal_mask.value"), findings=(finding,))
    assert "it follows bottom_right in causal_alignment" in text
    assert f"though top_left {words} (query i sees keys j ≤ i); hidden when " in text


def test_the_standard_value_of_a_convention_can_be_the_one_that_is_wrong() -> None:
    finding = Finding("causal_mask", "causal_alignment", "bottom_right", "declared")
    suspect = Suspect(("causal_top_left_vs_bottom_right",), 1.0, (("causal_alignment", "top_left"),))
    text = told(diagnosis(suspect, law="causal_mask.value"), findings=(finding,))
    assert "it follows top_left in causal_alignment" in text
    assert "though bottom_right is declared" in text


def test_two_mistakes_made_together_are_told_with_what_each_does() -> None:
    text = told(diagnosis(BOTH))
    assert "`rope_sign_flipped` and `rope_theta_ignored` together" in text
    assert "certain" not in text
    assert all(f"- `{slug}`: {catalogue()[slug].sentence}" in text for slug in BOTH.mistakes)


def test_what_is_no_formula_is_not_said_to_be_in_the_outputs() -> None:
    suspect = Suspect(("result_promoted_to_float64", "rope_theta_ignored"), 0.5, BASE_IGNORED.changes)
    text = told(diagnosis(suspect))
    assert "those of `rope_theta_ignored`, and laws that `result_promoted_to_float64` breaks fail too" in text
    named = Suspect(("parameter_without_default", "result_promoted_to_float64"), 0.3)
    together = told(diagnosis(named, how="named_by_laws"))
    assert together.startswith("Likely `parameter_without_default` and `result_promoted_to_float64`, independently")


def test_the_diagnosis_stands_last_where_a_terminal_ends() -> None:
    laws = [law for law in LAWS if law.startswith("rotary.")]
    lines = report_text(report(replace(diagnosis(BASE_IGNORED), laws=tuple(laws))), DEFAULTS).splitlines()
    (others,) = (number for number, line in enumerate(lines) if line.endswith("do not (--verbose)"))
    (named,) = (number for number, line in enumerate(lines) if "Diagnosis: " in line)
    (command,) = (number for number, line in enumerate(lines) if "veriformer explain" in line)
    assert others < named < command == len(lines) - 2


def test_where_each_mistake_stands_is_said_and_several_are_listed_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(
        "def rope(x):\n    return x\n\n\ndef padding_mask(lengths, max_length):\n    return lengths\n"
    )
    rotary = diagnosis(BASE_IGNORED)
    mask = diagnosis(Suspect(("mask_polarity_inverted",), 1.0), law="padding_mask.value")
    both = replace(report(rotary, mask), source="mine.py", implementation="mine.py")
    lines = report_text(replace(both, taken_as={"rope": "rotary_embedding"})).splitlines()
    assert [line.split()[1] for line in lines if line.startswith("    where ")] == ["mine.py:1", "mine.py:5"]
    listed = [line.split() for line in lines[lines.index("What is wrong") + 1 : -1]]
    assert listed == [
        ["rotary_embedding", "rope_theta_ignored,", "mine.py:1"],
        ["padding_mask", "mask_polarity_inverted,", "mine.py:5"],
    ]
    assert "What is wrong" not in report_text(replace(both, diagnoses=(rotary,), results=both.results[:1]))


def test_several_suspects_are_a_short_list_with_what_would_tell_them_apart() -> None:
    suspects = [replace(BASE_IGNORED, confidence=0.5), Suspect(("rope_sign_flipped",), 0.5)]
    text = told(diagnosis(*suspects, separated_by="batch 1, base 10"))
    assert "one of these" in text
    assert text.index("`rope_theta_ignored`:") < text.index("`rope_sign_flipped`:")
    assert "distinguished by batch 1, base 10" in text
    assert "distinguished by no drawn input" in told(diagnosis(*suspects))
    assert "certain" not in text


def test_a_long_list_is_cut() -> None:
    slugs = [slug for slug in catalogue() if slug.startswith("rope_")][:9]
    text = told(diagnosis(*(Suspect((slug,), 1 / 9) for slug in slugs)))
    assert "… and 5 more" in text
    assert f"`{slugs[3]}`" in text
    assert f"`{slugs[4]}`" not in text


def test_what_is_named_by_its_laws_is_no_more_than_likely() -> None:
    likely = told(diagnosis(Suspect(("bias_cache_shape_stale",), 0.5), how="named_by_laws"))
    assert likely.startswith("Likely `bias_cache_shape_stale` (laws that it breaks fail):")
    faint = [Suspect((slug,), 0.05) for slug in ("bias_cache_shape_stale", "rope_low_precision_positions")]
    assert told(diagnosis(*faint, how="named_by_laws")).startswith("Perhaps one of these, whose laws fail;")
    assert "outputs are those" not in likely


def test_what_nobody_knows_is_said_to_be_unknown() -> None:
    assert told(diagnosis(how="unknown")).startswith("No known mistake explains what is wrong.")
    assert "of the 148 that were computed" in told(diagnosis(how="unknown", excluded=148))
    told_of_the_rest = told(replace(diagnosis(how="unknown", excluded=148), untried=1200))
    assert "1,200 less likely pairs were not tried." in told_of_the_rest


def test_a_choice_that_nobody_reported_is_told_by_what_it_does() -> None:
    suspect = Suspect(("turn=minus_missing",), 1.0, (("turn", "minus_missing"),))
    text = told(diagnosis(suspect))
    assert "`turn=minus_missing`" in text
    assert "neither sine has a minus" in text
    assert "met in no known report" in told(diagnosis(suspect), options=Options(verbose=True))
    assert "how to look veriformer explain turn=minus_missing" in text


def test_a_convention_that_the_mistake_hides_is_said() -> None:
    suspect = replace(BASE_IGNORED, changes=(*BASE_IGNORED.changes, ("rotary_pairing", "half")))
    assert "convention rotary_pairing half, which the mistake hides" in told(diagnosis(suspect))
    (entry,) = report_as_json(report(diagnosis(suspect)))["diagnosis"]
    assert entry["conventions"] == {"rotary_pairing": "half"}
    assert entry["changes"] == {"base": "rope_theta_ignored"}


def test_the_same_mistake_in_a_later_operation_is_told_once() -> None:
    suspect = Suspect(("mask_polarity_inverted",), 1.0)
    first, second = (diagnosis(suspect, law=law) for law in ("padding_mask.value", "attention.mask.value"))
    text = report_text(report(first, second))
    assert text.count("certain") == 1
    assert f"As in {first.operation}: `mask_polarity_inverted`." in text
    assert report_text(report(first, second), Options(verbose=True)).count("certain") == 2


def test_one_law_and_a_table_of_implementations_tell_it_too() -> None:
    whole = report(diagnosis(BASE_IGNORED))
    assert "`rope_theta_ignored` (certain" in law_text(whole, whole.results[0])
    assert "`rope_theta_ignored` (certain" in as_text(details(whole))


def test_the_first_line_of_a_law_is_its_mistake_and_what_it_says() -> None:
    def first_line(*suspects: Suspect, **more: Any) -> str:
        whole = report(diagnosis(*suspects, **more))
        return law_text(whole, whole.results[0]).partition("\n")[0]

    said = LAWS["rotary.base"].statement
    other = Suspect(("rope_sign_flipped",), 0.4)
    assert first_line(BASE_IGNORED) == f"✗ rope_theta_ignored: {said}"
    assert first_line(BOTH) == f"✗ rope_sign_flipped and rope_theta_ignored: {said}"
    assert first_line(other, BASE_IGNORED) == f"✗ rope_sign_flipped or rope_theta_ignored: {said}"
    assert "and 1 more: " in first_line(other, BASE_IGNORED, BOTH)
    # What no program with the mistake breaks, or what laws merely hint at, is not called by its name.
    assert first_line(BASE_IGNORED, unexplained=("rotary.base",)) == f"✗ {said}"
    assert first_line(BASE_IGNORED, how="named_by_laws") == f"✗ {said}"


def test_without_a_diagnosis_nothing_is_told() -> None:
    whole = replace(report(diagnosis(BASE_IGNORED)), diagnoses=())
    assert "iagnosis" not in report_text(whole)
    assert report_as_json(whole)["diagnosis"] == []


def test_text_of_others_cannot_speak_to_the_terminal() -> None:
    hostile = "\x1b]0;title\x07\u202e"
    suspects = [Suspect((hostile,), 0.5), replace(BASE_IGNORED, confidence=0.5)]
    text = report_text(report(diagnosis(*suspects, separated_by=hostile)), Options(verbose=True))
    assert not {"\x1b", "\x07", "\u202e"} & set(text)


def test_two_mistakes_are_two_entries_that_name_each_other() -> None:
    single = diagnosis(Suspect(("causal_mask_transposed",), 1.0), law="causal_mask.value")
    entries = report_as_json(report(diagnosis(BOTH), single))["diagnosis"]
    assert [entry["mistake"] for entry in entries] == ["causal_mask_transposed", *BOTH.mistakes]
    assert [entry["confidence"] for entry in entries] == [1.0, 0.9, 0.9]
    assert [entry["together_with"] for entry in entries] == [[], [BOTH.mistakes[1]], [BOTH.mistakes[0]]]
    assert entries[1]["changes"] == {"turn": "rope_sign_flipped"}
    assert entries[1]["laws"] == ["rotary.base"]


def test_laws_have_the_diagnosis_of_their_operation() -> None:
    whole = report(diagnosis(BASE_IGNORED))
    held = LawResult(LAWS["rotary.value"], "passed", 9)
    written = report_as_json(replace(whole, results=(*whole.results, held)))
    first, second = written["laws"]
    assert [entry["mistake"] for entry in first["diagnosis"]] == ["rope_theta_ignored"]
    assert "laws" not in first["diagnosis"][0]
    assert second["diagnosis"] == []


def one_column_too_many(lengths: Any, max_length: int) -> Any:
    return np.arange(max_length) <= lengths[:, None]


def test_a_run_is_diagnosed_from_its_unexpected_failures_only(tmp_path: Any) -> None:
    implementation = SimpleNamespace(padding_mask=one_column_too_many, causal_mask=np.ones)
    implementation.causal_mask = lambda query_length, key_length: np.ones((query_length, key_length), dtype=bool)
    found = check(implementation, tier="quick")
    assert [one.operation for one in found.diagnoses] == ["causal_mask", "padding_mask"]
    written = report_as_json(found)
    json.dumps(written, allow_nan=False)
    assert {entry["mistake"] for entry in written["diagnosis"]} == {"decoder_not_causal", "real=one_too_many"}
    broken = [result for result in found.results if result.status == "failed"]
    path = tmp_path / "expected.txt"
    path.write_text("".join(f"{one.law.id}  # known\n" for one in broken if one.law.operation.name == "padding_mask"))
    rest = check(implementation, tier="quick", expected_failures=ExpectedFailures.read(path))
    assert [one.operation for one in rest.diagnoses] == ["causal_mask"]
    text = report_text(rest)
    assert text.count("Diagnosis") == 1
    assert "`decoder_not_causal` (certain" in text
