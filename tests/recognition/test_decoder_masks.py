"""What a decoder's mask shows, what is filled in for hidden logits, and which keys have buckets of their own."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from veriformer.adapters.capture.captured import recorded_pass
from veriformer.adapters.capture.models import find_model
from veriformer.conformance_tests.recognition.findings import Departure, Recognition
from veriformer.conformance_tests.recognition.recognise import recognise

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def masks(kind: Callable[[str], ModuleType]) -> ModuleType:
    return kind("decoder_masks")


def found(model: Any, *inputs: Any) -> Recognition:
    torch.manual_seed(0)
    return recognise(recorded_pass(find_model(model, "model", inputs), inputs, seed=0).trace)


def named(departures: tuple[Departure, ...]) -> list[tuple[str, list[str]]]:
    return [(one.path, [suspect.name for suspect in one.suspects]) for one in departures]


def words(recognition: Recognition) -> list[str]:
    return [part.summary for part in recognition.parts if part.role == "multi_head_attention"]


LATER = "the decoder's queries see later positions"
IN_BOTH = [("decoder.0.own", ["decoder_not_causal"]), ("decoder.1.own", ["decoder_not_causal"])]


@pytest.mark.parametrize(("mask", "departures"), (("both", []), ("either", IN_BOTH), ("shown", IN_BOTH)))
def test_a_decoder_of_an_encoder_sees_no_later_key(masks: ModuleType, mask: str, departures: list[Any]) -> None:
    recognition = found(masks.Translator(getattr(masks, mask)), masks.SOURCE, masks.TARGET)
    assert named(recognition.departures) == departures
    assert {one.sentence for one in recognition.departures} <= {LATER}
    assert {one.step for one in recognition.departures} <= {"mask"}


@pytest.mark.parametrize("mask", ("both", "either", "shown"))
def test_what_has_no_encoder_may_see_them(masks: ModuleType, mask: str) -> None:
    """A mask of a prefix shows later keys, and encoders of padded tokens do."""
    assert found(masks.Alone(getattr(masks, mask)), masks.TARGET).departures == ()


@pytest.mark.parametrize("fill", (1e-9, 0.0, -5.0))
def test_what_is_filled_in_for_padding_and_does_not_hide_it_departs(masks: ModuleType, fill: float) -> None:
    first, second = found(masks.Alone(masks.shown, fill), masks.TARGET).departures
    assert named((first, second)) == [
        ("stack.blocks.0.attention", ["finite_mask_beaten_by_logits"]),
        ("stack.blocks.1.attention", ["finite_mask_beaten_by_logits"]),
    ]
    assert first.sentence == f"hidden logits are replaced by {fill:.4g}, which other logits do not dwarf"


@pytest.mark.parametrize("fill", (-1e9, -1e4, -float("inf")))
def test_what_hides_padding_holds(masks: ModuleType, fill: float) -> None:
    recognition = found(masks.Alone(masks.shown, fill), masks.TARGET)
    assert recognition.departures == ()
    assert all("masked: keys of token 0 hidden" in one for one in words(recognition))
    assert recognition.share_understood == 1.0


def test_without_padding_no_fill_is_seen(masks: ModuleType) -> None:
    assert found(masks.Alone(masks.shown, 1e-9), masks.TARGET[:, :5]).departures == ()


def test_buckets_for_later_keys_depart_in_a_causal_decoder(masks: ModuleType) -> None:
    first, second = found(masks.OfBuckets(bidirectional=True, causal=True), torch.arange(34).reshape(2, 17)).departures
    assert (first.path, first.layer, first.step) == ("stack.blocks.0.attention.rows", 0, "logits")
    assert (second.path, second.layer) == ("stack.blocks.1.attention.rows", 1)
    assert first.sentence == second.sentence == "half of the buckets are for later keys, which no query sees"


@pytest.mark.parametrize(
    ("bidirectional", "causal", "said"),
    ((False, True, "causal, a bias by bucket of distance of earlier keys"),
     (True, False, "every key, a bias by bucket of distance of earlier and later keys")),
)  # fmt: skip
def test_buckets_for_the_keys_that_are_seen_hold(
    masks: ModuleType, *, bidirectional: bool, causal: bool, said: str
) -> None:
    recognition = found(masks.OfBuckets(bidirectional, causal), torch.arange(34).reshape(2, 17))
    assert recognition.departures == ()
    assert len(words(recognition)) == 2
    assert all(f"{said}, one map" in one for one in words(recognition))
