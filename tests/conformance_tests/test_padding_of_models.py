"""Padding that a model tells by its tokens or by lengths is tried as one that it is handed a mask for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from veriformer.adapters.files import load_file
from veriformer.conformance_tests.run.checking_models import check_model
from veriformer.conformance_tests.run.model_report import ModelReport

torch = pytest.importorskip("torch")

padded = load_file(str(Path(__file__).with_name("strangers") / "padded.py"))[0]
documented = load_file(str(Path(__file__).with_name("strangers") / "documented_padding.py"))[0]
TOKENS = torch.tensor([[5, 9, 2, 7, 3, 8], [4, 6, 2, 1, 1, 1]])


def statuses(report: ModelReport) -> dict[str, str]:
    return {one.law.id: one.status for one in report.results if one.law.id.startswith("model.padding")}


def tokens_of(pooled: str, returns: str) -> ModelReport:
    return check_model(padded.Encoder(pooled, returns), (TOKENS,))


def lengths_of(pooled: str, _: str) -> ModelReport:
    return check_model(padded.OfLengths(pooled), (torch.randn(2, 6, padded.WIDTH), torch.tensor([6, 3])))


@pytest.mark.parametrize(("report", "returns"), ((tokens_of, "both"), (tokens_of, "mean"), (lengths_of, "mean")))
def test_what_is_pooled_goes_without_padding(report: Any, returns: str) -> None:
    right = statuses(report("shown", returns))
    assert right["model.padding.removed"] == right["model.padding.content"] == "passed"
    assert "failed" not in right.values()
    assert statuses(report("all", returns))["model.padding.removed"] == "failed"


def test_lengths_say_nothing_of_padding_in_front() -> None:
    assert statuses(lengths_of("shown", ""))["model.padding.left"] == "not_declared"


def test_results_of_whole_samples_are_told_of() -> None:
    said = "What it returns for each sample as a whole is judged too, behind the columns of its positions"
    assert said in tokens_of("shown", "both").notices
    assert said not in tokens_of("shown", "mean").notices


def test_without_padding_in_the_inputs_none_is_known() -> None:
    report = check_model(padded.Encoder(), (TOKENS[:, :3],))
    assert set(statuses(report).values()) == {"not_declared"}


def test_positions_of_another_number_are_not_judged_by_their_padding() -> None:
    report = check_model(padded.EverySecond(), (torch.randn(2, 6, padded.WIDTH), torch.tensor([6, 3])))
    assert set(statuses(report).values()) == {"not_declared"}


def test_a_single_sequence_with_padding_is_read() -> None:
    report = check_model(padded.OneSequence(), (TOKENS[1],))
    assert statuses(report)["model.padding.removed"] == "passed"


@pytest.mark.parametrize(
    ("name", "holds"), (("Encoder", True), ("TheOtherWay", False), ("Undocumented", True), ("ByMethod", True))
)
def test_a_mask_is_handed_over_as_documentation_says(name: str, holds: bool) -> None:
    report = check_model(getattr(documented, name)(), (torch.randn(2, 6, documented.WIDTH),))
    assert statuses(report)["model.padding.content"] == ("passed" if holds else "failed")
    said = "pad_mask is handed over as its documentation says, so that True is padding; the model hides the others"
    assert (said in report.notices) is not holds
