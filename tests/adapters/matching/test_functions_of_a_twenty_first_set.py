"""Functions that were accused, not judged or passed in a twenty-first set of strangers' files."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from veriformer.adapters.errors import NoOperations
from veriformer.adapters.implementation import Implementation
from veriformer.conformance_tests import check

Loaded = Callable[..., Implementation]
STEPS = '''
import numpy as np


class CachedSelfAttention:
    """Self-attention for generation: prefill() with the prompt, then step() for each token."""

    def __init__(self, Wq, Wk, Wv, Wo, n_heads, max_len=64):
        self.Wq, self.Wk, self.Wv, self.Wo = Wq, Wk, Wv, Wo
        self.h, self.d = n_heads, Wq.shape[1] // n_heads
        self.keys = np.zeros((max_len, n_heads, self.d), dtype=Wk.dtype)
        self.values = np.zeros((max_len, n_heads, self.d), dtype=Wv.dtype)
        self.pos = 0

    def prefill(self, x):
        n = x.shape[0]
        q, k, v = ((x @ w).reshape(n, self.h, self.d) for w in (self.Wq, self.Wk, self.Wv))
        end = self.pos + n
        self.keys[self.pos : end], self.values[self.pos : end] = k, v
        self.pos += n
        scores = np.einsum("qhd,khd->hqk", q, self.keys[:end]) * self.d**-0.5
        scores = np.where(np.arange(end) <= np.arange(end - n, end)[:, None], scores, -np.inf)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        return np.einsum("hqk,khd->qhd", weights, self.values[:end]).reshape(n, -1) @ self.Wo

    def step(self, x):
        return self.prefill(x[None])[0]
'''


def test_a_class_that_answers_step_by_step(loaded: Loaded) -> None:
    right = loaded(STEPS)
    words = "built for each call; half of the positions to `prefill`, then one position at a time to `step`"
    assert words in right.operations["multi_head_attention"].form.words
    assert check(right, tier="quick").exit_status == 0
    wrong = loaded(STEPS.replace("self.pos += n", "self.pos += 1"))
    assert check(wrong, tier="quick", diagnosis=False).exit_status == 1


def test_a_step_with_an_axis_of_positions(loaded: Loaded) -> None:
    found = loaded(STEPS.replace("x[None])[0]", "x)").replace("def prefill", "def _rows").replace(".prefill", "._rows"))
    assert (
        "built for each call; one position at a time to `step`" in found.operations["multi_head_attention"].form.words
    )
    assert check(found, tier="quick").exit_status == 0


def test_a_class_without_a_forward_pass_is_named_where_it_is_alone(loaded: Loaded) -> None:
    with pytest.raises(NoOperations, match="CachedSelfAttention: it has no forward pass"):
        loaded(STEPS.replace("def step", "def later"))


WINDOW = '''
import torch


def attention(q, k, v, causal=True, window=None):
    """q (B, H, L, D); the window is used together with `causal` alone, and has the query's own key in it."""
    scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
    if causal:
        rows = torch.arange(q.shape[2])[:, None] + k.shape[2] - q.shape[2]
        distance = rows - torch.arange(k.shape[2])
        mask = distance >= 0
        if window is not None:
            mask = mask & torch.lt(distance, int(window))
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    return scores.softmax(-1) @ v
'''


def test_a_window_that_is_read_with_the_causal_flag_alone(loaded: Loaded) -> None:
    right = loaded(WINDOW)
    form = right.operations["scaled_dot_product_attention"].form
    assert "window" in form.features and "always called with causal=True" in form.words
    assert check(right, tier="quick").exit_status == 0
    wrong = loaded(WINDOW.replace("distance >= 0", "distance >= -1"))
    assert check(wrong, tier="quick", diagnosis=False).exit_status == 1
