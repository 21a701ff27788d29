"""The benchmark of unknown mistakes: what it hides is hidden, and nothing else, and only as long as it runs."""

from __future__ import annotations

from types import ModuleType

import pytest
from veriformer.conformance_tests.diagnosis import diagnose
from veriformer.conformance_tests.mistakes import planted
from veriformer.conformance_tests.operations.suites import family_of
from veriformer.conformance_tests.variants.family import Family


def slugs(family: Family | None) -> set[str]:
    assert family is not None
    return {option.slug for decision in family.all_decisions.values() for option in decision.options if option.slug}


def test_a_mistake_is_taken_out_of_every_part_of_a_family(benchmark: ModuleType) -> None:
    layer = family_of("encoder_layer")
    assert layer is not None
    assert slugs(layer) - slugs(benchmark.without(layer, "scale_missing")) == {"scale_missing"}


def test_it_is_known_again_afterwards(benchmark: ModuleType) -> None:
    with benchmark.not_known("scale_missing"):
        assert "scale_missing" not in slugs(diagnose.family_of("scaled_dot_product_attention"))
    assert "scale_missing" in slugs(diagnose.family_of("scaled_dot_product_attention"))


def test_what_is_a_convention_of_others_is_left_out(benchmark: ModuleType) -> None:
    assert "gelu_tanh_vs_erf" in benchmark.conventional()
    assert "scale_missing" not in benchmark.conventional()


@pytest.mark.parametrize(
    ("slug", "source"),
    (
        ("sigmoid_overflows", "layers_numpy"),
        # Of its wrong calls others explain the first, of which rounding says much, and none with larger logits.
        ("finite_mask_beaten_by_logits", "attention_numpy"),
    ),
)
def test_a_mistake_that_nobody_reported_is_said_to_be_unknown(benchmark: ModuleType, slug: str, source: str) -> None:
    (mistake,) = (one for one in planted() if (one.slug, one.source) == (slug, source))
    (program,) = benchmark.singles([mistake])
    assert benchmark.answer(benchmark.said(program, seed=0)) == "none that is known"
