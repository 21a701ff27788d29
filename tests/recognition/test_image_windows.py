"""Windows of an image that are rolled: whose keys are hidden, and which row of a table each displacement has."""

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

ROLLED = ", keys hidden that were rolled in from elsewhere"


@pytest.fixture(scope="module")
def windows(kind: Callable[[str], ModuleType]) -> ModuleType:
    return kind("image_windows")


@pytest.fixture(scope="module")
def found(kind: Callable[[str], ModuleType]) -> Callable[[Any], Recognition]:
    images = (kind("windows").images(),)

    def recognised(model: Any) -> Recognition:
        torch.manual_seed(0)
        return recognise(recorded_pass(find_model(model, "model", images), images, seed=0).trace)

    return recognised


def said(recognition: Recognition) -> list[str]:
    """Return what is said of each attention, from the first words that the mask or the rolling may give."""
    attentions = [part.summary for part in recognition.parts if part.role == "multi_head_attention"]
    assert len(attentions) == 2
    return [one.partition("one map for query, key, value")[2] for one in attentions]


def test_a_right_mask_is_said_of_the_rolled_layer_alone(
    windows: ModuleType, found: Callable[[Any], Recognition]
) -> None:
    recognition = found(windows.Image())
    assert recognition.departures == recognition.differences == ()
    assert recognition.share_understood == 1.0
    assert said(recognition) == ["", ROLLED]


def test_nothing_is_said_where_no_window_is_rolled(windows: ModuleType, found: Callable[[Any], Recognition]) -> None:
    recognition = found(windows.Image(shifts=(0, 0)))
    assert recognition.departures == ()
    assert said(recognition) == ["", ""]


def test_an_inverted_mask_departs_in_its_layer(windows: ModuleType, found: Callable[[Any], Recognition]) -> None:
    recognition = found(windows.Image(windows.inverted))
    (departure,) = recognition.departures
    assert (departure.path, departure.layer, departure.step) == ("blocks.1", 1, "mask")
    assert departure.sentence == (
        "the mask hides the keys of a query's own part of the image, and shows those that were rolled in"
    )
    assert said(recognition) == ["", ""]


@pytest.mark.parametrize(
    ("mask", "words"), (("of_nothing", ", keys seen that were rolled in from elsewhere"), ("of_some", ""))
)
def test_another_mask_is_not_held_against_it(
    windows: ModuleType, found: Callable[[Any], Recognition], mask: str, words: str
) -> None:
    recognition = found(windows.Image(getattr(windows, mask)))
    assert recognition.departures == ()
    assert said(recognition) == ["", words]


@pytest.mark.parametrize("step", (4, 6))
@pytest.mark.parametrize("shift", (0, 2))
def test_displacements_that_share_a_row_depart(
    windows: ModuleType, found: Callable[[Any], Recognition], step: int, shift: int
) -> None:
    recognition = found(windows.Image(step=step, shifts=(0, shift)))
    sentence = "different displacements in the window share a row of the table of relative positions"
    assert [(one.path, one.step, one.sentence) for one in recognition.departures] == [
        ("blocks.0", "logits", sentence),
        ("blocks.1", "logits", sentence),
    ]
