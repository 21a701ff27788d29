"""Pictures in words, for those who do not see them."""

from __future__ import annotations

from typing import Any

import pytest
from any_picture import pictures
from hypothesis import given, settings
from veriformer.pictures.from_arrays import mask, turned
from veriformer.pictures.model import (
    Cell,
    Chart,
    ErrorBar,
    Formula,
    Grid,
    Line,
    Node,
    Picture,
    Region,
    Row,
    Tree,
    Visits,
)
from veriformer.pictures.words import words

BAR = ErrorBar("the output", 0.03, 1e-8)


@settings(max_examples=60, deadline=None)
@given(pictures)
def test_every_picture_has_words(picture: Any) -> None:
    if isinstance(picture, Formula | Row):
        assert isinstance(words(picture), str)
    else:
        assert words(picture).endswith(".")


@pytest.mark.parametrize(
    ("picture", "said"),
    (
        (
            mask("mask", [[1, 0], [1, 1]], [[0, 1], [0, 0]]),
            "mask: a grid of 2 × 2, query by key; 3 visible; 1 wrong: query 0, key 1 (does not see).",
        ),
        (Grid("", ((Cell("1/2", "wrong"), Cell("1")),)), "A grid of 1 × 2; 1 wrong: column 0 (1/2)."),
        (BAR, "the output: the error is 0.03, 3e6 times what rounding explains (1e-8)."),
        (ErrorBar("", 1e-9, 1e-8), "The error is 1e-9, no more than rounding explains (1e-8)."),
        (ErrorBar("", float("nan"), 1e-8), "The error is NaN, more than any rounding explains (1e-8)."),
        (ErrorBar("", 0.5, 0.0), "The error is 0.5, where no rounding is allowed."),
        (
            Tree("m.py:GPT", (Node("a", "", "holds", children=(Node("b", "", "departs"), Node("c", "", "departs"))),)),
            "m.py:GPT: 3 parts, 1 holds, 2 depart; what departs: b; c.",
        ),
        (
            turned("", [0, 1], [0.5, 0.0]),
            "2 clocks for each of 2 positions; position 0 at 0°, 0°; position 1 at 29°, 0°.",
        ),
        (
            Chart("c", (Line("one", ((1.0, 0.5), (2.0, 0.25))), Line("none", ())), "d", "share"),
            "c: share over d; one goes from 0.5 at d 1 to 0.25 at 2; none has no points.",
        ),
        (
            Visits("", (("lengths", (Region("L = S", 3), Region("L > S", 0))),)),
            "1 of 2 regions visited; not visited: L > S (lengths).",
        ),
        (Formula(r"\frac{1}{2}"), "1/2"),
        (
            Row("both", (BAR, Formula("x"))),
            "both. the output: the error is 0.03, 3e6 times what rounding explains (1e-8). x",
        ),
    ),
)
def test_words_say_what_a_picture_shows(picture: Picture, said: str) -> None:
    assert words(picture) == said
