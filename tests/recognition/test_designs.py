"""What is a mistake in most models, and meant in some: the latter are not accused, and the former still are.

The models are in `kinds/designs.py`, where each right one stands beside the wrong one that it is told from.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from veriformer.adapters.capture.captured import recorded_pass
from veriformer.adapters.capture.models import find_model
from veriformer.conformance_tests.recognition.findings import Recognition
from veriformer.conformance_tests.recognition.recognise import recognise

torch = pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def _same_weights() -> None:
    torch.manual_seed(0)


@pytest.fixture(scope="module")
def designs(kind: Callable[[str], ModuleType]) -> ModuleType:
    return kind("designs")


def found(model: Any, inputs: Any = None) -> Recognition:
    return recognise(recorded_pass(find_model(model, "model"), inputs, seed=0).trace)


def slugs(recognition: Recognition) -> set[str]:
    return {suspect.name for one in recognition.departures for suspect in one.suspects}


@pytest.mark.parametrize(
    ("right", "wrong", "slug"),
    (
        ("temperature_of_one", "all_at_position_zero", "rope_window_constant_position"),
        ("all_backwards", "queries_backwards", "rope_sign_flipped"),
        ("all_backwards", "one_layer_backwards", "rope_sign_flipped"),
        ("shared_keys", "keys_of_queries", "projections=one_for_all"),
        ("chosen_queries", "tiled_keys", "gqa_head_index_wrong"),
        ("gated_heads", "without_projection", "out_proj_missing"),
        ("late_bias", "PositionsAgain", "pe_added_every_block"),
        ("deep_router", "nothing_added", "residual_missing"),
        ("joined_block", "nothing_added", "residual_missing"),
    ),
)
def test_what_is_meant_is_told_from_the_mistake(designs: ModuleType, right: str, wrong: str, slug: str) -> None:
    assert found(getattr(designs, right)()).departures == ()
    assert slug in slugs(found(getattr(designs, wrong)()))


def test_pairs_that_are_turned_by_two_coordinates_keep_their_lengths(designs: ModuleType) -> None:
    tokens = torch.randint(0, 90, (3, 9))
    assert found(designs.two_coordinates(), tokens).departures == ()
    assert {one.step for one in found(designs.lengths_change(), tokens).departures} == {"rotary"}


def test_global_tokens_may_serve_the_others_alone(designs: ModuleType) -> None:
    tokens = torch.randint(0, 90, (2, 9))
    assert found(designs.WithGlobals(), tokens).departures == ()
    assert "sublayer_output_discarded" in slugs(found(designs.WithGlobals(used=False), tokens))


def test_what_fills_up_a_block_is_no_padding_of_the_memory(designs: ModuleType) -> None:
    tokens = torch.randint(0, 40, (2, 11)), torch.randint(0, 40, (2, 7))
    assert found(designs.FilledUp(), tokens).departures == ()
    assert slugs(found(designs.FilledUp(cut=False), tokens)) == {"padding_mask_ignored"}


def test_norms_may_be_gated_and_queries_made_of_latents(designs: ModuleType) -> None:
    assert found(designs.gated_norms()).departures == ()


def test_a_head_may_have_a_norm_of_its_own(designs: ModuleType) -> None:
    assert found(designs.TwoNormsAtTheEnd()).departures == ()


def test_convolutions_may_read_the_stream_without_a_norm(designs: ModuleType) -> None:
    images = torch.randn(2, 12, 12)
    assert found(designs.ReadAsImage(), images).departures == ()
    plain = found(designs.ReadAsImage(convolved=False), images)
    assert plain.departures == ()
    assert plain.parts[-1].summary == "unembedding, of the stream without a norm"


def test_logits_of_tokens_are_made_through_a_norm(designs: ModuleType) -> None:
    assert found(designs.EndsWithoutNorm(normed=True)).departures == ()
    assert slugs(found(designs.EndsWithoutNorm(normed=False))) == {"missing_final_norm_prenorm"}
    # A head of other numbers goes without one in some models.
    assert found(designs.EndsWithoutNorm(normed=False, outputs=5)).departures == ()


def test_positions_are_counted_from_behind_the_row_of_padding(designs: ModuleType) -> None:
    tokens = torch.randint(0, 90, (2, 9))
    assert found(designs.CountedFromOne(0), tokens).departures == ()
    assert slugs(found(designs.CountedFromOne(None), tokens)) == {"learned_position_offset_wrong"}


def test_numbers_may_be_drawn_to_choose_what_is_seen(designs: ModuleType) -> None:
    patches = torch.randn(2, 9, 12)
    assert found(designs.SomePatches(), patches).departures == ()
    assert slugs(found(designs.SomePatches(dropped=True), patches)) == {"dropout_active_in_eval"}


def test_streams_that_share_their_first_keys_mix_no_positions(kind: Callable[[str], ModuleType]) -> None:
    assert found(kind("predicted").Predicting(), torch.randint(0, 90, (5, 11))).departures == ()


def test_what_needs_a_longer_input_is_not_missed(designs: ModuleType) -> None:
    tokens = torch.randint(0, 90, (2, 9))
    assert found(designs.compressed(), tokens).departures == ()
    assert found(designs.gate_unused(), tokens).departures
