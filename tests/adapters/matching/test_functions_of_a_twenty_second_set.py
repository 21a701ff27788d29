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


def rms_norm(x: Any, g: Any) -> Any:
    return torch.nn.functional.normalize(x, dim=-1) * x.shape[-1] ** 0.5 * g


def softmax(x: Any) -> Any:
    return x.softmax(-1)


# It divides by the length, or by 1e-12 where that is larger: no law of an eps that is added holds it to account.
def test_a_norm_that_divides_by_the_length_is_named() -> None:
    found = load({"rms_norm": rms_norm, "softmax": softmax})
    assert set(found.operations) == {"softmax", "softmax_backward"}
    assert "it divides by their length" in found.not_judged["rms_norm"]


# With the factor forgotten it is wrong for every vector.
def test_a_norm_without_its_factor_is_judged() -> None:
    found = load({"rms_norm": lambda x, g: torch.nn.functional.normalize(x, dim=-1) * g})
    assert "rms_norm" in found.operations
