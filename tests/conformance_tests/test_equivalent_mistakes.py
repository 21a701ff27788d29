"""What an exact softmax undoes is proved to change nothing, and changes nothing beyond rounding."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from veriformer.conformance_tests import check
from veriformer.conformance_tests.mistakes import Equivalence, catalogue, equivalent, planted, read_source
from veriformer.spec.derivations import load_derivation

REPORTED_AS_EQUIVALENT = {"alibi_offset_by_one", "causal_mask_additive_offset_one"}
RECORDS = tuple(equivalent().values())
ATTENTION = ("scaled_dot_product_attention", "grouped_query_attention", "attention_weights", "multi_head_attention")


def executed(text: str) -> SimpleNamespace:
    """Return what a program defines."""
    module: dict[str, object] = {}
    exec(compile(text, "program", "exec"), module)
    return SimpleNamespace(**module)


def test_they_are_those_that_are_reported_so() -> None:
    assert set(equivalent()) == REPORTED_AS_EQUIVALENT
    for slug, known in equivalent().items():
        assert catalogue()[slug].equivalence == known
        assert catalogue()[slug].planted, "where it shows it is caught"


@pytest.mark.parametrize("known", RECORDS, ids=lambda known: known.slug)
def test_the_step_that_proves_it_is_proved(known: Equivalence) -> None:
    steps = {step.name: step for step in load_derivation(known.derivation).steps}
    assert steps[known.step].check().holds


@pytest.mark.parametrize("known", RECORDS, ids=lambda known: known.slug)
def test_a_program_with_it_conforms(known: Equivalence) -> None:
    for seed in range(2):
        report = check(executed(known.source_text()), operations=ATTENTION, tier="quick", seed=seed)
        assert [result.law.id for result in report.results if result.status in ("failed", "error")] == []
        assert report.counts["passed"] > 150


@pytest.mark.parametrize("known", RECORDS, ids=lambda known: known.slug)
def test_its_results_differ_from_the_correct_ones_by_rounding(known: Equivalence) -> None:
    right, wrong = executed(read_source(known.source)), executed(known.source_text())
    generator = np.random.default_rng(0)
    query, key, value = generator.normal(size=(3, 2, 3, 5, 4))
    bias = generator.normal(size=(2, 3, 5, 5))
    results = [
        program.scaled_dot_product_attention(query, key, value, bias=bias, is_causal=True) for program in (right, wrong)
    ]
    np.testing.assert_allclose(*results, rtol=0, atol=1e-14)


def test_counting_alibi_one_place_later_shows_in_the_bias_and_not_in_attention() -> None:
    mistake = next(entry for entry in planted() if entry.slug == "alibi_offset_by_one")
    right, wrong = (
        executed(text).alibi_bias(3, 5, 5).astype(float) for text in (mistake.correct_text(), mistake.source_text())
    )
    attend = executed(read_source("attention_numpy")).scaled_dot_product_attention
    query, key, value = np.random.default_rng(1).normal(size=(3, 2, 3, 5, 4))
    results = [attend(query, key, value, bias=bias, is_causal=True) for bias in (right, wrong)]
    assert np.abs(right - wrong).min() > 1e-3
    np.testing.assert_allclose(*results, rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    "order", ["x * root * gamma", "(x.float() * root.float()).to(x.dtype) * gamma", "x * (root * gamma)"]
)
def test_rounding_before_or_after_the_gain_is_inside_the_tolerance(order: str) -> None:
    pytest.importorskip("torch")
    right = "    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * gamma"
    text = read_source("layers_torch")
    assert text.count(right) == 1
    own = f"    root = torch.rsqrt(x.float().square().mean(-1, keepdim=True) + eps).to(x.dtype)\n    return {order}"
    program = executed(text.replace(right, own) + '\ndtypes = ("bfloat16", "float16", "float32")\n')
    for seed in range(3):
        report = check(program, operations=("rms_norm",), seed=seed)
        assert [result.law.id for result in report.results if result.status in ("failed", "error")] == []
        assert report.counts["passed"] > 12
