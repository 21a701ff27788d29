"""Masks of multi-head attention functions are judged, whatever axes they have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from veriformer import check

pytest.importorskip("torch")

TEXT = '''
import torch

def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads, {parameter}=None):
    """{documented}"""
    samples, length, width = x.shape
    q, k, v = [(x @ w).view(samples, length, num_heads, -1).transpose(1, 2) for w in (w_q, w_k, w_v)]
    scores = q @ k.mT / (width // num_heads) ** 0.5
    if {parameter} is not None:
        scores = {masked}
    return (scores.softmax(-1) @ v).transpose(1, 2).reshape(samples, length, -1) @ w_o
'''
HIDDEN = "scores.masked_fill({}, -torch.inf)"
# How a mask is brought to the axes of the logits, with the axes that are said for it.
AXES = (
    ("mask", "(B, H, L, S)"),
    ("mask[:, None]", "(B, L, S)"),
    ("mask[:, None, None]", "(B, S)"),
    # A reshape takes no mask with more axes than it says.
    ("mask.reshape(samples, 1, length, length)", "(B, 1, L, S)"),
    ("mask.reshape(length, length)", "(L, S)"),
)


def of(masked: str, documented: str = "", parameter: str = "mask") -> str:
    return TEXT.format(parameter=parameter, documented=documented, masked=masked)


@pytest.mark.parametrize(("given", "axes"), AXES)
def test_a_mask_holds_with_the_axes_that_it_has(loaded: Callable[..., Any], given: str, axes: str) -> None:
    found = loaded(of(HIDDEN.format(f"~{given}")))
    assert f"`mask`: {axes}, True may be attended" in found.notices[0]
    report = check(found, tier="quick", diagnosis=False)
    statuses = {one.law.id: one.status for one in report.results}
    assert statuses["multi_head.mask.value"] == statuses["multi_head.mask.broadcast"] == "passed"
    assert report.exit_status == 0


@pytest.mark.parametrize(
    ("masked", "words"),
    (
        (HIDDEN.format("mask[:, None]"), "(B, L, S), True is hidden"),
        ("scores + mask[:, None]", "(B, L, S), added, −∞ is hidden"),
        (HIDDEN.format("mask[:, None] == 0"), "(B, L, S), True may be attended"),
    ),
)
def test_kinds_of_masks(loaded: Callable[..., Any], masked: str, words: str) -> None:
    assert f"`mask`: {words}" in loaded(of(masked)).notices[0]


@pytest.mark.parametrize(
    ("given", "mistake"),
    (("mask[:, None]", "mask_polarity_inverted"), ("~mask[:, None].mT", "attention.mask_reading=transposed")),
)
def test_a_wrong_mask_is_named(loaded: Callable[..., Any], given: str, mistake: str) -> None:
    text = of(HIDDEN.format(given), "mask: (B, L, L), True may be attended")
    report = check(loaded(text), tier="quick")
    assert {suspect.mistakes for one in report.diagnoses for suspect in one.suspects[:1]} == {(mistake,)}


@pytest.mark.parametrize(("axes", "status"), (("None, None, :", 0), ("None, :, None", 1)), ids=("keys", "queries"))
def test_a_mask_of_padding_by_its_name_is_judged(loaded: Callable[..., Any], axes: str, status: int) -> None:
    text = of(HIDDEN.format(f"~pad_mask[:, {axes}]"), "pad_mask: (B, L), True for real tokens", "pad_mask")
    assert check(loaded(text), tier="quick", diagnosis=False).exit_status == status


def test_lengths_that_must_be_given_are_those_of_all_keys(loaded: Callable[..., Any]) -> None:
    text = of("scores", "lengths: (B,)", "unused").replace("num_heads, unused=None", "num_heads, lengths")
    hidden = "scores = scores.masked_fill(torch.arange(length) >= lengths[:, None, None, None], -1e9)"
    text = text.replace("if unused is not None:\n        scores = scores", hidden)
    assert check(loaded(text), tier="quick").exit_status == 0
