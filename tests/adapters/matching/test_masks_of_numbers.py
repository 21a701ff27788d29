"""Masks that may be truth values or numbers: both are judged, where documentation or source says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from veriformer import check

pytest.importorskip("torch")

TEXT = '''
import torch

def attention(q, k, v, attn_mask=None):
    """{documented}"""
    scores = q @ k.mT{scaled}
    if attn_mask is not None:
        {mask}
    scores = scores{late}
    return scores.softmax(-1) @ v
'''
SCALED = " / q.shape[-1] ** 0.5"
ASKS = """if attn_mask.dtype == torch.bool:
            scores = scores.masked_fill({hidden}, -torch.inf)
        else:
            scores = scores + attn_mask"""
ADDS = "scores = scores + attn_mask"


def text(
    documented: str = "", scaled: str = SCALED, late: str = "", mask: str = ASKS, hidden: str = "~attn_mask"
) -> str:
    return TEXT.format(documented=documented, scaled=scaled, late=late, mask=mask.format(hidden=hidden))


def named(found: Any) -> set[tuple[str, ...]]:
    report = check(found, tier="quick")
    return {suspect.mistakes for one in report.diagnoses for suspect in one.suspects}


@pytest.mark.parametrize(
    ("documented", "mask"), (("", ASKS), ("A float mask is added to the scaled scores.", ADDS)), ids=("asks", "adds")
)
def test_numbers_in_a_mask_are_judged_as_a_bias(loaded: Callable[..., Any], documented: str, mask: str) -> None:
    found = loaded(text(documented, mask=mask))
    assert "numbers in it are added" in found.notices[0]
    report = check(found, tier="quick", diagnosis=False)
    statuses = {one.law.id: one.status for one in report.results}
    assert statuses["attention.bias.value"] == statuses["attention.mask.value"] == "passed"
    assert set(statuses.values()) == {"passed", "not_declared"}


def test_numbers_that_are_scaled_with_the_logits_are_named(loaded: Callable[..., Any]) -> None:
    assert named(loaded(text(scaled="", late=SCALED))) == {("mask_scaled_with_scores",)}


def test_a_mask_of_truth_values_is_given_no_numbers_in_their_place(loaded: Callable[..., Any]) -> None:
    found = loaded(text("attn_mask: True may be attended.", hidden="attn_mask"))
    assert named(found) == {("mask_polarity_inverted",)}


def test_without_a_word_numbers_are_not_given(loaded: Callable[..., Any]) -> None:
    assert "numbers in it" not in loaded(text(mask="scores = scores.masked_fill(~attn_mask, -torch.inf)")).notices[0]


SOFTMAX = '''
import torch

def scaled_masked_softmax(inputs, mask=None, scale=1.0):
    """inputs: (b, np, sq, sk) raw scores; mask: bool (b, 1, sq, sk), True = masked out."""
    x = inputs * scale
    if mask is not None:
        x = x.masked_fill({hidden}, -torch.inf)
    return x.softmax(-1)
'''


@pytest.mark.parametrize(("hidden", "verdict"), (("mask", "conforms"), ("~mask", "violates")))
def test_a_softmax_with_a_scale_and_a_documented_mask(loaded: Callable[..., Any], hidden: str, verdict: str) -> None:
    found = loaded(SOFTMAX.format(hidden=hidden))
    assert found.taken_as == {"scaled_masked_softmax": "attention_weights"}
    assert "True is hidden, as documented" in found.notices[0]
    assert check(found, tier="quick", diagnosis=False).verdict == verdict


SHIFTED = """
import torch

def lm_loss(logits, tokens):
    picked = logits[:, :-1].log_softmax(-1).gather(-1, tokens[:, 1:, None])
    return -picked.mean()

def softmax(x):
    return x.softmax(-1)
"""


def test_a_loss_of_the_next_token_is_no_wrong_cross_entropy(loaded: Callable[..., Any]) -> None:
    found = loaded(SHIFTED)
    assert "cross_entropy" not in found.operations
    assert check(found, tier="quick", diagnosis=False).verdict == "conforms"
