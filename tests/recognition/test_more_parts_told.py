"""Gates called by numbers, sines in more layouts, learned vectors at outputs, and towers that are compared."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from veriformer.adapters.capture.captured import recorded_pass
from veriformer.adapters.capture.models import find_model
from veriformer.conformance_tests.recognition.findings import Part, Recognition
from veriformer.conformance_tests.recognition.recognise import recognise

torch = pytest.importorskip("torch")


def found(model: Any, *inputs: Any) -> Recognition:
    torch.manual_seed(0)
    return recognise(recorded_pass(find_model(model, "model", inputs or None), inputs or None, seed=0).trace)


def words(recognition: Recognition, role: str) -> list[str]:
    return [part.summary for part in recognition.parts if part.role == role]


# --- gates ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("activated", "linear", "back"), (("w3", "w1", "w2"), ("up", "gate", "down"), ("up_proj", "gate_proj", "down_proj"))
)
def test_the_activation_of_the_other_branch_departs(
    kind: Callable[[str], ModuleType], activated: str, linear: str, back: str
) -> None:
    recognition = found(kind("numbered_maps").decoder(activated, linear, back))
    assert [(one.path, one.step) for one in recognition.departures] == [
        ("stack.blocks.0.network", "activation"),
        ("stack.blocks.1.network", "activation"),
    ]
    for one in recognition.departures:
        assert one.sentence == f"the activation is applied to {activated}, and not to {linear}"
        assert [suspect.name for suspect in one.suspects] == ["swiglu_gate_up_swapped"]


@pytest.mark.parametrize(
    "names",
    (("w1", "w3", "w2"), ("w1", "w2", "w3"), ("w2", "w1", "w3"), ("w2", "w3", "w1"), ("gate", "up", "down"), "abc"),
)
def test_the_right_branch_or_other_names_hold(kind: Callable[[str], ModuleType], names: tuple[str, ...]) -> None:
    recognition = found(kind("numbered_maps").decoder(*names))
    assert recognition.departures == ()
    assert words(recognition, "gated_feed_forward") == ["gated_feed_forward, silu"] * 2


# --- sines ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("layout", "is_last_exact", "said"),
    (
        ("halves", True, "sines, then cosines, base 10000, the last 1/10000"),
        ("turns", True, "sines and cosines in turns, base 10000, the last 1/10000"),
        ("halves", False, "concatenated"),
        ("turns", False, "interleaved"),
    ),
)
def test_sines_of_positions_are_told_by_their_layout(
    kind: Callable[[str], ModuleType], layout: str, *, is_last_exact: bool, said: str
) -> None:
    sines = kind("sines")
    recognition = found(sines.Encoder(layout, is_last_exact))
    assert recognition.departures == ()
    assert words(recognition, "token_embedding") == [f"token_embedding, sinusoidal positions ({said})"]
    (departure,) = found(sines.Encoder(layout, is_last_exact, start=1)).departures
    assert (departure.path, departure.step) == ("embed", "positions")
    assert departure.sentence == "the first token gets the second row of the table of positions"


def test_waves_of_another_base_are_a_fixed_table(kind: Callable[[str], ModuleType]) -> None:
    recognition = found(kind("sines").Encoder(base=531.0))
    assert recognition.departures == ()
    assert words(recognition, "token_embedding") == ["token_embedding, fixed positions"]


# --- learned vectors at outputs ---------------------------------------------------------------------------------------


def test_outputs_that_are_multiplied_by_a_learned_vector_are_read(kind: Callable[[str], ModuleType]) -> None:
    scales = kind("layer_scales")
    recognition = found(scales.decoder(scales.LayerScale, scales.LayerScale))
    assert recognition.departures == recognition.differences == ()
    assert recognition.share_understood == 1.0
    for role in ("multi_head_attention", "gated_feed_forward"):
        assert len(words(recognition, role)) == 2
        assert all(one.endswith(", its output times a learned vector") for one in words(recognition, role))


def test_the_one_layer_without_such_a_vector_is_told(kind: Callable[[str], ModuleType]) -> None:
    scales = kind("layer_scales")
    recognition = found(scales.decoder(scales.LayerScale, scales.Block, scales.LayerScale))
    assert recognition.departures == ()
    assert {(one.as_departure.layer, one.usual) for one in recognition.differences} == {
        (1, "its output is multiplied by a learned vector")
    }
    assert len(recognition.differences) == 2


# --- towers -----------------------------------------------------------------------------------------------------------


def similarity(recognition: Recognition) -> Part:
    (part,) = (one for one in recognition.parts if "similarity" in one.summary)
    return part


@pytest.mark.parametrize("divided", ("own", "by_function"))
@pytest.mark.parametrize(
    ("scaled", "said"), (("exponential", "times exp(logit_scale), "), ("itself", "times logit_scale itself, "))
)
def test_products_of_two_towers_are_told(
    kind: Callable[[str], ModuleType], divided: str, scaled: str, said: str
) -> None:
    towers = kind("two_towers")
    recognition = found(towers.Towers(getattr(towers, divided), getattr(towers, scaled)), *towers.given())
    assert recognition.departures == ()
    assert recognition.share_understood == 1.0
    part = similarity(recognition)
    assert (part.role, part.status) == ("similarity", "holds")
    lengths = "of_image divided by its length and of_text divided by its length"
    assert part.summary.startswith(f"similarity, the products of {lengths}, {said}")
    assert not any("in 1 windows" in one.summary for one in recognition.parts)


def test_products_without_lengths_are_told_so(kind: Callable[[str], ModuleType]) -> None:
    towers = kind("two_towers")
    part = similarity(found(towers.Towers(towers.as_it_is), *towers.given()))
    assert part.summary.startswith("similarity, the products of of_image and of_text, times exp(logit_scale), ")
    assert part.status == "holds"


def test_lengths_over_the_batch_are_not_recognised(kind: Callable[[str], ModuleType]) -> None:
    towers = kind("two_towers")
    recognition = found(towers.Towers(towers.over_the_batch), *towers.given())
    assert (similarity(recognition).role, similarity(recognition).status) == ("unrecognised", "unrecognised")
    assert recognition.share_understood < 1.0
