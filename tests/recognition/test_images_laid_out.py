"""The patches that a model's vectors are laid out as, where it returns an image."""

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


@pytest.fixture(scope="module")
def conditioned(kind: Callable[[str], ModuleType]) -> ModuleType:
    return kind("conditioned")


def found(conditioned: ModuleType, laid_out: str, embed: Any = None) -> Recognition:
    torch.manual_seed(0)
    embed = embed or conditioned.Convolved
    model = conditioned.DiT([conditioned.Block], getattr(conditioned, laid_out), embed)
    inputs = conditioned.given(is_last=embed is not conditioned.Convolved)
    return recognise(recorded_pass(find_model(model, "model", inputs), inputs, seed=0).trace)


def end_of(recognition: Recognition) -> str:
    (end,) = (part for part in recognition.parts if part.role == "unembedding")
    return end.summary


LAID_OUT = "unembedding, laid out as patches of 2 × 2, row by row"


@pytest.mark.parametrize("laid_out", ("channels_first", "channels_last"))
def test_patches_are_laid_out_from_images_with_channels_first(conditioned: ModuleType, laid_out: str) -> None:
    recognition = found(conditioned, laid_out)
    assert recognition.departures == ()
    assert end_of(recognition) == LAID_OUT


def test_patches_are_laid_out_from_images_with_channels_last(conditioned: ModuleType) -> None:
    recognition = found(conditioned, "channels_last", conditioned.Squares)
    assert recognition.departures == ()
    assert end_of(recognition) == LAID_OUT


def test_images_whose_channels_are_moved_for_a_convolution_are_cut_into_its_patches(conditioned: ModuleType) -> None:
    recognition = found(conditioned, "channels_last", lambda: conditioned.Convolved(is_last=True))
    assert recognition.departures == ()
    assert end_of(recognition) == LAID_OUT


@pytest.mark.parametrize("laid_out", ("as_they_lie", "far_apart"))
def test_vectors_that_go_to_no_patches_depart(conditioned: ModuleType, laid_out: str) -> None:
    (departure,) = found(conditioned, laid_out).departures
    assert departure.path == "head"
    assert departure.sentence == (
        "each vector goes to pieces of the image that are no patch of it: axes are not exchanged"
    )


@pytest.mark.parametrize(
    ("laid_out", "channels_are_last", "said"),
    (
        ("column_by_column", False, "laid out as patches of 2 × 2, column by column"),
        ("as_they_lie_in_rows", True, "laid out as patches of 1 × 4, row by row"),
    ),
)
def test_other_patches_than_the_image_was_cut_into_depart(
    conditioned: ModuleType, laid_out: str, channels_are_last: bool, said: str
) -> None:
    recognition = found(conditioned, laid_out, conditioned.Squares if channels_are_last else None)
    (departure,) = recognition.departures
    assert departure.path == "head"
    assert departure.sentence == f"an image is cut into patches of 2 × 2, row by row, and the result is {said}"


def test_pieces_of_rows_are_patches_of_their_own_where_the_image_was_given_in_another_shape(
    conditioned: ModuleType,
) -> None:
    recognition = found(conditioned, "as_they_lie_in_rows")
    assert end_of(recognition) == "unembedding, laid out as patches of 1 × 4, row by row"
