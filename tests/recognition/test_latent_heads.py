"""Attention with latents is read whole, however its logits are put together, and what is wrong in it is found."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from veriformer.adapters.capture.captured import recorded_pass
from veriformer.adapters.capture.models import find_model
from veriformer.conformance_tests import check
from veriformer.conformance_tests.recognition.findings import Recognition
from veriformer.conformance_tests.recognition.recognise import recognise
from veriformer.conformance_tests.recognition.turning import partners
from veriformer.conformance_tests.reports.model import verdict_sentence
from veriformer.conformance_tests.run.model_report import ModelReport

torch = pytest.importorskip("torch")

WAYS = ("joined", "filled", "added", "added_scaled")


@pytest.fixture(autouse=True)
def _same_weights() -> None:
    torch.manual_seed(0)


def found(model: Any) -> Recognition:
    return recognise(recorded_pass(find_model(model, "model"), seed=0).trace)


def said(recognition: Recognition) -> list[str]:
    return [part.summary for part in recognition.parts if "head_attention" in part.summary]


@pytest.mark.parametrize("way", WAYS)
def test_latent_attention_is_read_whole(kind: Callable[[str], ModuleType], way: str) -> None:
    recognition = found(kind("latent_heads").model(way))
    assert recognition.departures == ()
    assert recognition.understood == recognition.captured
    words = "4 heads, causal, rotary, interleaved pairing, width 8 at the end, base 10000"
    assert (
        said(recognition)
        == [f"multi_head_attention, {words}, query from a latent of 24, key and value from a latent of 20"] * 2
    )
    # The norms of the latents have lines of their own.
    assert sum(part.path.rpartition(".")[2].startswith("norm_of") for part in recognition.parts) == 4


@pytest.mark.parametrize("way", WAYS)
def test_a_shared_key_that_is_not_turned_departs(kind: Callable[[str], ModuleType], way: str) -> None:
    recognition = found(kind("latent_heads").model(way, "key not turned"))
    names = {suspect.name for one in recognition.departures for suspect in one.suspects}
    assert names == {"turned_heads=queries_only"}


@pytest.mark.parametrize("way", WAYS)
def test_a_scale_of_one_part_is_stated(kind: Callable[[str], ModuleType], way: str) -> None:
    recognition = found(kind("latent_heads").model(way, "scale of a part"))
    assert all("logits times 0.3536 (1/√8, of what is not turned; 1/√D is 0.25)" in one for one in said(recognition))


def test_a_norm_of_a_latent_that_is_left_out_departs(kind: Callable[[str], ModuleType]) -> None:
    report = check(kind("latent_heads").model("added", "no norm"), seed=0)
    assert isinstance(report, ModelReport)
    assert "departs in stack.blocks.0.attention.norm_of_latent" in verdict_sentence(report)


@pytest.mark.parametrize("carried", (True, False))
def test_layers_that_run_on_segments_are_no_encoder(kind: Callable[[str], ModuleType], *, carried: bool) -> None:
    """Weights in a dictionary that answers for no attribute but its keys are copied all the same."""
    recognition = found(kind("segments").Segments(carried=carried))
    assert recognition.departures == ()
    assert recognition.share_understood >= 0.9


def test_one_position_tells_no_partners() -> None:
    numbers = np.random.default_rng(0).standard_normal((4, 2, 1, 8))
    assert partners(numbers, numbers) is None
