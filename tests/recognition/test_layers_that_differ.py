"""Layers that do otherwise than others: stated, not accused, unless they are meant to be alike or it is a mistake."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest
from veriformer.conformance_tests import check
from veriformer.conformance_tests.reports.model import difference_sentences
from veriformer.conformance_tests.run.model_report import ModelReport

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def differing(kind: Callable[[str], ModuleType]) -> ModuleType:
    return kind("differing")


def checked(differing: ModuleType, name: str, *, layers_alike: bool = False, **arguments: int) -> ModelReport:
    torch.manual_seed(0)
    report = check(getattr(differing, name)(**arguments), layers_alike=layers_alike)
    assert isinstance(report, ModelReport)
    return report


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    (
        (
            "one_activation",
            {},
            "stack.blocks.1.network.activation differs from stack.blocks.0.network.activation, "
            "stack.blocks.2.network.activation (2 layers) in the activation of feed_forward: silu; there: gelu",
        ),
        (
            "one_activation",
            {"layers": 2},
            "stack.blocks.1.network.activation differs from stack.blocks.0.network.activation in the activation of "
            "feed_forward: silu; there: gelu",
        ),
        ("one_eps", {}, "eps is 0.001; there: eps is 1e-05"),
        ("one_cap", {}, "in the logits of self_attention: the logits are capped at ±5; there: no cap"),
    ),
)
def test_a_layer_that_differs_is_stated_and_not_accused(
    differing: ModuleType, name: str, arguments: dict[str, int], said: str
) -> None:
    report = checked(differing, name, **arguments)
    assert report.departures == ()
    assert report.exit_status == 0
    assert any(said in sentence for sentence in difference_sentences(report)), difference_sentences(report)


def test_it_departs_where_layers_are_meant_to_be_alike(differing: ModuleType) -> None:
    report = checked(differing, "one_activation", layers_alike=True)
    assert difference_sentences(report) == []
    assert [(one.path, one.step) for one in report.departures] == [("stack.blocks.1.network.activation", "activation")]
    assert report.exit_status == 1
    departing = [part.path for part in report.parts if part.status == "departs"]
    assert departing == ["stack.blocks.1.network"]


def test_a_mistake_in_one_layer_is_no_statement(differing: ModuleType) -> None:
    report = checked(differing, "one_without_residual")
    assert [one.suspects[0].name for one in report.departures] == ["residual_missing"]


def test_what_comes_back_in_turns_is_stated_too(differing: ModuleType) -> None:
    report = checked(differing, "in_turns")
    assert report.departures == ()
    assert any("no norm" in sentence for sentence in difference_sentences(report)), difference_sentences(report)
