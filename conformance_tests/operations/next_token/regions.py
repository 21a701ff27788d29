"""Regions of the loss of next tokens; those of the cross entropy hold for it too."""

from __future__ import annotations

from typing import Any

from veriformer.conformance_tests.drawing.region import BEYOND_EXP, Region, among
from veriformer.conformance_tests.operations.every.regions import with_gradients

_LOSS = with_gradients("next_token_loss")


def _begins_with_ignored(given: Any) -> bool:
    return bool((given.tokens[:, 0] == given.ignore_index).any())


def _rows_keep_different_numbers(given: Any) -> bool:
    kept = given.kept.sum(axis=-1)
    return bool((kept != kept[0]).any())


REGIONS = (
    *among(
        _LOSS,
        ("every next token counts", "Nothing is ignored.", lambda c: c.ignore == "none"),
        ("some next tokens ignored", "Not every token is judged.", lambda c: c.ignore != "none"),
        ("one next token in a row", "Rows of two tokens.", lambda c: c.length == 2),
        ("several next tokens in a row", "Rows of three tokens or more.", lambda c: c.length > 2),
        ("several rows of tokens", "Rows could leak into each other.", lambda c: c.batch > 1),
        ("several classes of tokens", "There is something to choose from.", lambda c: c.classes > 1),
    ),
    Region(
        "rows that begin with an ignored token",
        "It is no target, and counts nowhere.",
        _LOSS,
        lambda c: c.ignore != "none",
        _begins_with_ignored,
    ),
    Region(
        "rows with different numbers of targets",
        "A mean of means is not the mean.",
        _LOSS,
        lambda c: c.ignore != "none" and c.batch > 1,
        _rows_keep_different_numbers,
    ),
    Region(
        "next tokens beyond exp",
        "A logit that is judged and whose exponential overflows.",
        _LOSS,
        lambda c: c.amplitude >= 30,
        lambda given: bool(given.logits[:, :-1].max() > BEYOND_EXP[given.dtype]),
    ),
)
