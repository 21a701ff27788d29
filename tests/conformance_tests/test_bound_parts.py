"""Modules of a model are called alone, with weights that laws draw, and what one pass does not show is found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from veriformer.adapters.files import load_file
from veriformer.adapters.whole_models.session import opened
from veriformer.conformance_tests import check
from veriformer.conformance_tests.recognition.recognise import recognise
from veriformer.conformance_tests.reports.json_report import report_as_json
from veriformer.conformance_tests.reports.model import model_lines
from veriformer.conformance_tests.run.judged import Judged
from veriformer.conformance_tests.run.model_laws import parts_judged

torch = pytest.importorskip("torch")
modules, _ = load_file(str(Path(__file__).with_name("bound_modules.py")))


def judged(model: Any, *operations: str, seed: int = 0) -> dict[str, Judged]:
    """Return the laws of the parts of a model, by operation; of the named operations only."""
    with opened(model, seed=seed) as session:
        recognition = recognise(session.trace)
        chosen = tuple(one for one in recognition.bound if not operations or one.operation in operations)
        return {one.operation: one for one in parts_judged(session, chosen, seed)}


def passed(one: Judged) -> set[str]:
    return {result.law.claim.key for result in one.report.results if result.status == "passed"}


def broken(model: Any, operation: str) -> set[str]:
    return {result.law.claim.key for result in judged(model, operation)[operation].broken}


def test_the_parts_of_a_right_model_are_bound_and_hold() -> None:
    found = judged(modules.Model())
    assert {one.path: name for name, one in found.items()} == {
        "blocks.0.one": "layer_norm",
        "blocks.0.attention": "multi_head_attention",
        "blocks.0.network": "feed_forward",
    }
    assert not any(one.broken for one in found.values())
    assert {"value", "large_mean", "batch.independence"} <= passed(found["layer_norm"])
    assert {"large_logits", "single_query", "causal.prefix", "biases"} <= passed(found["multi_head_attention"])
    assert {"value", "biases", "batch.independence"} <= passed(found["feed_forward"])


def test_attention_that_takes_queries_keys_and_values_apart_is_bound() -> None:
    found = judged(modules.Model(modules.RootMeanSquare, modules.SeparateAttention))
    assert not any(one.broken for one in found.values())
    assert {"large_logits", "tokens.permutation"} <= passed(found["multi_head_attention"])
    assert "value" in passed(found["rms_norm"])


@pytest.mark.parametrize(
    ("parts", "operation", "laws"),
    [
        ((modules.DifferenceOfSquares, modules.Attention, modules.Network), "layer_norm", {"value"}),
        ((modules.NormOfOneSample, modules.Attention, modules.Network), "rms_norm", {"batch.independence"}),
        ((modules.Norm, modules.Attention, modules.NetworkOfTwoSamples), "feed_forward", {"batch.independence"}),
        ((modules.Norm, modules.FillOfTenThousand, modules.Network), "multi_head_attention", {"large_logits"}),
        ((modules.Norm, modules.SoftmaxWithoutMaximum, modules.Network), "multi_head_attention", {"large_logits"}),
        ((modules.Norm, modules.SqueezedAttention, modules.Network), "multi_head_attention", {"single_query"}),
    ],
    ids=lambda value: " ".join(one.__name__ for one in value) if isinstance(value, tuple) else "",
)
def test_a_mistake_that_one_pass_does_not_show_is_found(parts: Any, operation: str, laws: set[str]) -> None:
    assert laws <= broken(modules.Model(*parts), operation)


def test_a_mask_that_is_shorter_than_the_positions_is_found() -> None:
    one = judged(modules.Model(attention=modules.ShortMask), "multi_head_attention")["multi_head_attention"]
    assert any("refuses L > 1" in result.reason for result in one.broken)


def test_a_model_that_was_made_for_one_length_is_no_mistake() -> None:
    class OfOneLength(modules.Model):
        def forward(self, tokens):
            assert tokens.shape[1] == modules.FixedLength.rows
            return super().forward(tokens)

    assert not judged(OfOneLength(attention=modules.FixedLength), "multi_head_attention")


def test_the_model_is_left_as_it_was() -> None:
    model = modules.Model()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    dtype, addresses = torch.get_default_dtype(), [value.data_ptr() for value in model.parameters()]
    judged(model, "layer_norm", "feed_forward")
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert [value.data_ptr() for value in model.parameters()] == addresses
    assert torch.get_default_dtype() is dtype
    assert model.training


def test_the_report_has_the_parts_that_were_bound() -> None:
    report = check(modules.Model(modules.NormOfOneSample))
    assert report.verdict == "violates"
    written = report_as_json(report)
    bound = {one["path"]: one for one in written["bound"]}
    assert set(bound) == {"blocks.0.one", "blocks.0.attention", "blocks.0.network"}
    assert bound["blocks.0.one"]["operation"] == "rms_norm"
    assert "rms_norm.batch.independence" in bound["blocks.0.one"]["broken"]
    assert not bound["blocks.0.network"]["broken"]
    of_norm = [law["id"] for law in written["laws"] if law["path"] == "blocks.0.one"]
    assert set(bound["blocks.0.one"]["laws"]) <= set(of_norm)
    text = "\n".join(line.plain for line in model_lines(report))
    assert "blocks.0.one, rms_norm" in text
    assert "✗ rms_norm.unit_mean_square: " in text
    assert "✗ 5 more laws (--verbose): rms_norm." in text
    assert "laws of operations were tried on 3 modules: blocks.0.one (rms_norm," in " ".join(text.split())
