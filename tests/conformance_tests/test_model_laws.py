"""The laws of whole models: wrong ones break the law about what is wrong with them, right ones break none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from veriformer.adapters.capture.models import find_model
from veriformer.adapters.files import load_file
from veriformer.adapters.whole_models.session import opened
from veriformer.adapters.whole_models.whole import WholeModel
from veriformer.conformance_tests import check
from veriformer.conformance_tests.core.law_result import LawResult
from veriformer.conformance_tests.run.model_laws import laws_tried

pytest.importorskip("torch")

models = load_file(str(Path(__file__).with_name("strangers") / "whole_models.py"))[0]


def results_of(model: Any, *, causal: bool = False, seed: int = 0) -> dict[str, LawResult]:
    with opened(find_model(model, "model"), seed=seed) as session:
        (made,) = session.wrapped([WholeModel(causal=causal)])
        assert made.implementation is not None, made.reason
        return {one.law.claim.key: one for one in laws_tried(made.implementation, seed).results}


def broken(results: dict[str, LawResult]) -> set[str]:
    assert not [one for one in results.values() if one.status == "error"]
    return {key for key, one in results.items() if one.status == "failed"}


def held(results: dict[str, LawResult]) -> set[str]:
    return {key for key, one in results.items() if one.status == "passed"}


ALWAYS = {"shape", "same_call_same_answer", "history_independence", "batch.independence", "batch.permutation"}
PADDING = {"padding.content", "padding.removed", "padding.all_real", "padding.left"}
CACHE = {"cache.tokens", "cache.parts"}
LOSS = {"loss.value", "loss.ignored"}


@pytest.mark.parametrize(
    ("model", "causal", "laws"),
    (
        (models.GPT, True, LOSS | {"causal.no_future_leak"}),
        (models.ShiftsOnce, True, LOSS),
        (models.OnesAreReal, False, PADDING),
        (models.TrueIsHidden, False, PADDING),
        (models.WithAnotherMask, False, set()),
        (models.Rotary, True, CACHE | {"causal.no_future_leak"}),
        (models.StartPosition, True, CACHE | {"causal.no_future_leak"}),
    ),
)
def test_a_right_model_breaks_no_law(model: Any, causal: bool, laws: set[str]) -> None:
    results = results_of(model(), causal=causal)
    assert broken(results) == set()
    assert held(results) >= ALWAYS | laws | {"gradients.value"}
    if model is models.WithAnotherMask:
        assert not held(results) & PADDING


@pytest.mark.parametrize(
    ("model", "laws"),
    (
        (models.LeaksThroughAMean, {"causal.no_future_leak"}),
        (lambda: models.GPT(models.ShortMask), {"causal.no_future_leak"}),
        (models.BatchMoments, {"batch.independence", "causal.no_future_leak"}),
        (lambda: models.GPT(models.SoftmaxOverBatch), {"batch.independence"}),
        (models.DetachedPositions, {"gradients.value"}),
        (models.FrozenByNoGrad, {"gradients.value"}),
        (models.KeepsState, {"same_call_same_answer", "history_independence"}),
        (models.DropsInEvaluation, {"same_call_same_answer"}),
        (models.ShiftsTwice, {"loss.value", "loss.ignored"}),
        (models.SumsLoss, {"loss.value", "loss.ignored"}),
        (models.CountsIgnored, {"loss.ignored"}),
        (models.RestartsPositions, {"cache.tokens"}),
        (models.DoesNotRotateTheCache, {"cache.tokens"}),
    ),
)
def test_a_wrong_decoder_breaks_the_law_about_it(model: Any, laws: set[str]) -> None:
    assert broken(results_of(model(), causal=True)) >= laws


@pytest.mark.parametrize(
    ("model", "laws"),
    (
        (models.IgnoresPadding, {"padding.content", "padding.removed"}),
        (models.PoolsPadding, {"padding.content", "padding.removed"}),
    ),
)
def test_padding_that_is_seen_breaks_its_laws(model: Any, laws: set[str]) -> None:
    assert broken(results_of(model())) >= laws


def test_a_missing_gradient_is_named_and_so_is_a_mistake_in_the_loss() -> None:
    notes = {}
    for model, key in (
        (models.DetachedPositions, "gradients.value"),
        (models.ShiftsTwice, "loss.value"),
        (models.SumsLoss, "loss.value"),
        (models.CountsIgnored, "loss.ignored"),
    ):
        counterexample = results_of(model(), causal=True)[key].counterexample
        assert counterexample is not None
        notes[model] = counterexample.verdict.note
    assert "wpe.weight which the gradient does not reach" in notes[models.DetachedPositions]
    assert "`targets_shifted_again`" in notes[models.ShiftsTwice]
    assert "`loss_summed`" in notes[models.SumsLoss]
    assert "`loss_denominator_counts_padding`" in notes[models.CountsIgnored]


def test_the_laws_stand_in_the_report_of_a_check() -> None:
    import torch

    model = models.LeaksThroughAMean()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    report: Any = check(model)
    assert report.verdict == "violates" and report.exit_status == 1
    assert [one.law.id for one in report.broken] == ["model.causal.no_future_leak"]
    # A prefix has other results too, which counts against nobody.
    assert report.counts["failed"] == 2 and [one.path for one in report.laws if one.report.counts["failed"]] == [""]
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert model.training and all(parameter.grad is None for parameter in model.parameters())


def test_a_model_that_takes_a_state_is_not_judged_by_laws_that_change_its_samples() -> None:
    import torch

    class Remembers(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.map = torch.nn.Embedding(20, 8), torch.nn.Linear(8, 8)

        def forward(self, tokens: Any, memory: list[Any]) -> Any:
            x = self.embed(tokens)
            return self.map(x) + memory[0].mean(1, keepdim=True)

    inputs = (torch.arange(10).reshape(2, 5), [torch.randn(2, 3, 8)])
    with opened(find_model(Remembers(), "model"), inputs, seed=0) as session:
        (made,) = session.wrapped([WholeModel(causal=False)])
    assert made.implementation is None
    assert made.reason == "its input memory holds several arrays, such as a state"


@pytest.mark.parametrize(
    ("model", "causal", "said"),
    (
        (models.GPT, True, "of the same position: the model does not shift `targets`, its caller does"),
        (models.ShiftsLabels, True, "of the next token: the model shifts `labels`"),
        (
            models.TakesLabels,
            True,
            "of the same position: the model does not shift `labels`. Handed its own tokens, as models of transformers"
            " are, it learns to repeat them",
        ),
        (models.TakesLabels, False, "of the same position: each is judged by its own entry of `labels`"),
        (models.NamesFewClasses, True, "of the same position: each is judged by its own entry of `labels`"),
    ),
    ids=("targets", "shifted", "not shifted", "not causal", "few classes"),
)
def test_it_is_said_which_label_a_loss_is_of(model: Any, causal: bool, said: str) -> None:
    with opened(find_model(model(), "model"), seed=0) as session:
        (made,) = session.wrapped([WholeModel(causal=causal)])
    assert made.implementation is not None
    assert [one for one in made.implementation.notices if "loss" in one] == [f"Its loss is {said}"]
