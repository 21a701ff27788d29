"""What functions of strangers, written in November 2026, were taken for wrongly: the twenty-second set."""

from __future__ import annotations

from typing import Any

import torch
from veriformer.adapters.loading import load


def additive(allowed: Any) -> Any:
    return torch.zeros(allowed.shape).masked_fill(~allowed, float("-inf"))


def causal_mask(size: int) -> Any:
    return additive(torch.ones(size, size).tril().bool())


# Causal inside chunks, as Llama 4: the second number is no length.
def chunked_mask(size: int, chunk: int) -> Any:
    at = torch.arange(size)
    return additive((at[None] <= at[:, None]) & (at[:, None] // chunk == at[None] // chunk))


def sliding_window_mask(size: int, window: int) -> Any:
    at = torch.arange(size)
    return additive((at[None] <= at[:, None]) & (at[:, None] - at[None] < window))


def test_a_mask_of_chunks_is_no_causal_mask_of_two_lengths() -> None:
    masks = {one.__name__: one for one in (causal_mask, chunked_mask, sliding_window_mask)}
    found = load(masks)
    assert found.taken_as == {"causal_mask": "causal_mask"}
    assert not found.judged_alone
    assert set(found.not_judged) == {"chunked_mask", "sliding_window_mask"}


def test_a_mask_that_is_added_is_said_to_be() -> None:
    assert any("added, −∞ is hidden" in one for one in load({"causal_mask": causal_mask}).notices)
