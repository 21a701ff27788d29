"""Streams that a time step and a class condition: gains, shifts and gates of each sample, and where they come from."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from veriformer.adapters.capture.captured import recorded_pass
from veriformer.adapters.capture.models import find_model
from veriformer.conformance_tests.recognition.conditioning import waves_of
from veriformer.conformance_tests.recognition.findings import Recognition
from veriformer.conformance_tests.recognition.recognise import recognise

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def conditioned(kind: Callable[[str], ModuleType]) -> ModuleType:
    return kind("conditioned")


def found(model: Any, inputs: tuple[Any, ...]) -> Recognition:
    torch.manual_seed(0)
    return recognise(recorded_pass(find_model(model, "model", inputs), inputs, seed=0).trace)


def of_blocks(conditioned: ModuleType, *blocks: dict[str, Any]) -> Recognition:
    made = [lambda chosen=chosen: conditioned.Block(**chosen) for chosen in blocks]
    return found(conditioned.DiT(made), conditioned.given())


def words(recognition: Recognition, role: str) -> list[str]:
    return [part.summary for part in recognition.parts if part.role == role]


def assert_all_of_it_is_understood(recognition: Recognition) -> None:
    assert recognition.departures == () and recognition.differences == () and recognition.unused == ()
    assert {part.status for part in recognition.parts} == {"holds"}
    assert recognition.share_understood == recognition.share_found == 1.0


IN_TWO_NORMS = [
    "gain 1 + part 2 of 6 of the condition, shift part 1 of 6 of the condition, before self_attention",
    "gain 1 + part 5 of 6 of the condition, shift part 4 of 6 of the condition, before feed_forward",
]
IN_THE_LAST = "gain 1 + part 2 of 2 of the condition, shift part 1 of 2 of the condition"


@pytest.mark.parametrize("name", ("modulate", "in_one_step"))
def test_every_step_is_understood_and_every_vector_of_a_sample_told(conditioned: ModuleType, name: str) -> None:
    recognition = of_blocks(conditioned, *[{"modulate": getattr(conditioned, name)}] * 2)
    assert_all_of_it_is_understood(recognition)
    norms = [*IN_TWO_NORMS, *IN_TWO_NORMS, IN_THE_LAST]
    assert words(recognition, "layer_norm") == [f"layer_norm, eps 1e-06, {one}" for one in norms]
    for role, part in (("multi_head_attention", 3), ("feed_forward", 6)):
        said = words(recognition, role)
        assert len(said) == 2
        assert all(one.endswith(f"its output times part {part} of 6 of the condition") for one in said)


@pytest.mark.parametrize("name", ("modulate", "in_one_step"))
def test_a_norm_has_the_path_of_its_own_module(conditioned: ModuleType, name: str) -> None:
    recognition = of_blocks(conditioned, {"modulate": getattr(conditioned, name)})
    paths = [part.path for part in recognition.parts if part.role == "layer_norm"]
    assert paths[:2] == ["blocks.0.norm1", "blocks.0.norm2"]


def test_what_a_time_step_and_a_class_go_through_is_told_map_by_map(conditioned: ModuleType) -> None:
    recognition = of_blocks(conditioned, {})
    both = "conditioning, linear map of silu of steps.network.2 + rows of classes, the condition itself"
    assert {part.path: part.summary for part in recognition.parts if part.role == "conditioning"} == {
        "steps.network.0": ("conditioning, linear map of cosines, then sines of each sample's number, base 10000"),
        "steps.network.2": "conditioning, linear map of silu of steps.network.0",
        "blocks.0.condition.1": both,
        "condition.1": both,
    }


def test_a_gain_that_is_not_one_more_than_its_part_is_told_otherwise(conditioned: ModuleType) -> None:
    recognition = of_blocks(conditioned, {"modulate": conditioned.gain_alone})
    assert_all_of_it_is_understood(recognition)
    norms = [*(one.replace("gain 1 + ", "gain ") for one in IN_TWO_NORMS), IN_THE_LAST]
    assert words(recognition, "layer_norm") == [f"layer_norm, eps 1e-06, {one}" for one in norms]


@pytest.mark.parametrize(("gated", "left_out"), (((True, False), 6), ((False, True), 3)))
def test_a_gate_that_is_left_out_is_unused(conditioned: ModuleType, gated: tuple[bool, bool], left_out: int) -> None:
    recognition = of_blocks(conditioned, {}, {"gated": gated})
    assert recognition.unused == (f"part {left_out} of 6 of blocks.1.condition.1",)
    said = words(recognition, "multi_head_attention") + words(recognition, "feed_forward")
    assert ["its output times" in one for one in said] == [True, gated[0], True, gated[1]]


def test_a_layer_that_takes_its_gate_from_another_part_is_told_as_a_difference(conditioned: ModuleType) -> None:
    recognition = of_blocks(conditioned, {}, {}, {"order": (0, 1, 5, 3, 4, 5)})
    assert recognition.departures == ()
    (difference,) = recognition.differences
    assert (difference.as_departure.path, difference.as_departure.layer) == ("blocks.2.attention", 2)
    assert difference.own == "its output is multiplied by part 6 of 6 of the condition"
    assert difference.usual == "its output is multiplied by part 3 of 6 of the condition"
    assert recognition.unused == ("part 3 of 6 of blocks.2.condition.1",)


def test_a_layer_that_takes_its_gain_from_another_part_is_told_as_a_difference(conditioned: ModuleType) -> None:
    recognition = of_blocks(conditioned, {}, {}, {"order": (1, 0, 2, 3, 4, 5)})
    assert recognition.departures == ()
    (difference,) = recognition.differences
    assert difference.own == "gain 1 + part 1 of 6 of the condition, shift part 2 of 6 of the condition"
    assert difference.usual == "gain 1 + part 2 of 6 of the condition, shift part 1 of 6 of the condition"


def test_vectors_of_samples_are_told_in_jax_too(kind: Callable[[str], ModuleType]) -> None:
    pytest.importorskip("jax")
    in_jax = kind("conditioned_in_jax")
    recognition = found((in_jax.apply, in_jax.made(layers=1)), in_jax.given())
    assert_all_of_it_is_understood(recognition)
    norms = [*IN_TWO_NORMS, IN_THE_LAST]
    assert words(recognition, "layer_norm") == [f"layer_norm, eps 1e-06, {one}" for one in norms]
    (attention,) = words(recognition, "multi_head_attention")
    assert attention.endswith("its output times part 3 of 6 of the condition")
    both = "conditioning, linear map of silu of rows of classes, the condition itself"
    assert words(recognition, "conditioning") == [both] * 2


NUMBERS = np.array([5.0, 431.0, 77.0])


@pytest.mark.parametrize(
    ("layout", "joined"),
    (
        ("sines, then cosines", lambda angles: np.concatenate((np.sin(angles), np.cos(angles)), -1)),
        ("cosines, then sines", lambda angles: np.concatenate((np.cos(angles), np.sin(angles)), -1)),
        ("sines and cosines in turns", lambda angles: np.stack((np.sin(angles), np.cos(angles)), -1).reshape(3, -1)),
        ("cosines and sines in turns", lambda angles: np.stack((np.cos(angles), np.sin(angles)), -1).reshape(3, -1)),
    ),
)
@pytest.mark.parametrize(
    ("base", "is_last_exact", "times"), ((10000.0, False, 1.0), (10000.0, True, 1.0), (1000.0, False, 1000.0))
)
def test_sines_of_numbers_are_told_by_layout_base_and_factor(
    layout: str, joined: Callable[[Any], Any], base: float, is_last_exact: bool, times: float
) -> None:
    numbers = NUMBERS / times
    angles = times * numbers[:, None] * base ** (-np.arange(8) / (8 - int(is_last_exact)))
    assert waves_of(numbers, joined(angles)) == (layout, base, is_last_exact, times)


@pytest.mark.parametrize("wrong", ("frequencies", "numbers", "phases"))
def test_other_waves_are_not_taken_for_sines_of_numbers(wrong: str) -> None:
    exponents = np.linspace(0, 1, 8) ** 2 if wrong == "frequencies" else np.arange(8) / 8
    numbers = NUMBERS[::-1] if wrong == "numbers" else NUMBERS
    angles = numbers[:, None] * 10000.0**-exponents + (0.3 if wrong == "phases" else 0.0)
    assert waves_of(NUMBERS, np.concatenate((np.sin(angles), np.cos(angles)), -1)) is None
