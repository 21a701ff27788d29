"""Models of several inputs, of a state that runs out, and of a cache of few bits."""

from __future__ import annotations

from pathlib import Path

import pytest
from veriformer.adapters.files import load_file
from veriformer.conformance_tests.run.checking_models import check_model
from veriformer.conformance_tests.run.model_report import ModelReport

torch = pytest.importorskip("torch")

models = load_file(str(Path(__file__).with_name("strangers") / "padded.py"))[0]


def broken(report: ModelReport) -> set[str]:
    return {one.law.id for one in report.broken}


@pytest.mark.parametrize("kept", (True, False))
def test_a_model_of_several_inputs_is_judged_by_laws(kept: bool) -> None:
    report = check_model(models.InPlace(kept), (torch.randn(2, 7, 5) + 1, torch.randn(2, 7, 3)))
    assert broken(report) == (set() if kept else {"model.inputs_unchanged"})
    assert "model.batch.independence" in {one.law.id for one in report.results if one.status == "passed"}


def test_a_state_that_runs_out_breaks_the_law_of_the_same_answer() -> None:
    report = check_model(models.Remembers(), (torch.arange(14).reshape(2, 7),))
    assert broken(report) == {"model.same_call_same_answer"}
    counterexample = report.broken[0].counterexample
    assert counterexample is not None
    assert "other numbers, and then" in str(counterexample.verdict.actual)
    assert report.exit_status == 1
    assert "model.same_call_same_answer" in str(report)


@pytest.mark.parametrize(("scaled", "laws"), ((True, set()), (False, {"model.cache.tokens"})))
def test_what_a_cache_of_few_bits_loses_is_held_against_nobody(scaled: bool, laws: set[str]) -> None:
    assert broken(check_model(models.ShortNumbers(scaled))) == laws
