"""An attention with a wrong triangle of keys is judged as a causal one, in its own layout, and the mistake is named."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from veriformer.adapters.implementation import Implementation
from veriformer.conformance_tests import check

Loaded = Callable[..., Implementation]
TEXT = """
import math

import torch


def {name}(q, k, v):
    s = q @ k.transpose(-1, -2) / math.sqrt(q.size(-1))
    length = q.size(-2)
    triangle = torch.triu(torch.ones(length, length, dtype=torch.bool), {diagonal})
    s = s.masked_fill({hidden}, {number})
    return torch.softmax(s, -1) @ v
"""
INFINITE, LOW = "-math.inf", "-1e9"
RIGHT = TEXT.format(name="attention", diagonal=1, hidden="triangle", number=INFINITE)
WRONG = (
    ("attention", 1, "~triangle", INFINITE, "causal_mask_transposed"),
    ("attention", 1, "~triangle", LOW, "causal_mask_transposed"),
    ("attention", 0, "~triangle", INFINITE, "causal_mask_transposed"),
    ("causal_attention", 0, "~triangle", INFINITE, "causal_mask_transposed"),
    ("attention", 0, "triangle", INFINITE, "causal_mask_excludes_self"),
    ("attention", 0, "triangle", LOW, "causal_mask_excludes_self"),
    ("attention", 2, "triangle", INFINITE, "causal_diagonal_off_by_one"),
)


@pytest.mark.parametrize(("name", "diagonal", "hidden", "number", "slug"), WRONG)
def test_a_wrong_triangle_is_judged_as_causal(
    loaded: Loaded, name: str, diagonal: int, hidden: str, number: str, slug: str
) -> None:
    found = loaded(TEXT.format(name=name, diagonal=diagonal, hidden=hidden, number=number))
    (notice,) = found.notices
    assert "(B, H, L, D); always causal" in notice
    if number == INFINITE:
        report = check(found, laws=["attention.*"], tier="quick")
        assert slug in str(report)


def test_a_right_triangle_and_no_triangle_are_right(loaded: Loaded) -> None:
    found = loaded(RIGHT)
    assert "always causal" in found.notices[0] and "fit none" not in found.notices[0]
    without = loaded(RIGHT.replace("    s = s.masked_fill(triangle, -math.inf)\n", ""))
    assert "always causal" not in without.notices[0] and "fit none" not in without.notices[0]


@pytest.mark.parametrize("wrong", (" / math.sqrt(q.size(-1))", "torch.softmax(s, -1)"))
def test_another_mistake_makes_no_triangle(loaded: Loaded, wrong: str) -> None:
    text = RIGHT.replace("    s = s.masked_fill(triangle, -math.inf)\n", "")
    other = {"torch.softmax(s, -1)": "torch.softmax(s, -2)"}.get(wrong, "")
    notice = loaded(text.replace(wrong, other)).notices[0]
    assert "fit none" in notice and "always causal" not in notice


def test_a_triangle_beside_another_mistake_is_still_one(loaded: Loaded) -> None:
    notice = loaded(RIGHT.replace(" / math.sqrt(q.size(-1))", "")).notices[0]
    assert "always causal" in notice and "fit none" in notice
