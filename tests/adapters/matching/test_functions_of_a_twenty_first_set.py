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


ORIENTED = '''
import math

import torch


def multihead_attn(q, k, v, wq, wk, wv, wo, nhead):
    """q (L, B, E), k and v (S, B, E); the matrices (E, E) are applied as x @ w.T."""
    length, batch, width = q.shape
    q, k, v = (
        (one @ w.T).view(len(one), batch, nhead, -1).permute(1, 2, 0, 3) for one, w in ((q, wq), (k, wk), (v, wv))
    )
    weights = (q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])).softmax(-1)
    return (weights @ v).permute(2, 0, 1, 3).reshape(length, batch, width) @ wo.T
'''


@pytest.mark.parametrize("scale", ("q.shape[-1]", "width"))
def test_matrices_of_a_wrong_function_are_read_as_they_are_stored(loaded: Loaded, scale: str) -> None:
    found = loaded(ORIENTED.replace("sqrt(q.shape[-1])", f"sqrt({scale})"))
    assert "matrices (out, in)" in found.operations["multi_head_attention"].form.words
    report = check(found, tier="quick")
    named = [name for diagnosis in report.diagnoses for one in diagnosis.suspects for name in one.mistakes]
    assert named == ([] if scale == "q.shape[-1]" else ["scale_by_d_model_not_head_dim"])


COMBINED = '''
import numpy as np


def combine(out_a, lse_a, out_b, lse_b):
    """Join two partial results (B, H, L, D), each normalised over its own keys."""
    share = 1.0 / (1.0 + np.exp(lse_a - lse_b))[..., None]
    return (1.0 - share) * out_a + share * out_b, np.logaddexp(lse_a, lse_b)
'''


def test_a_merge_is_one_by_its_parameters(loaded: Loaded) -> None:
    assert check(loaded(COMBINED), tier="quick").exit_status == 0
    wrong = check(loaded(COMBINED.replace("np.exp(lse_a - lse_b)", "np.exp(lse_b - lse_a)")), tier="quick")
    assert [name for diagnosis in wrong.diagnoses for one in diagnosis.suspects for name in one.mistakes] == [
        "shares=exchanged"
    ]


NEWEST = '''
import numpy as np


def attend(q, k, v, is_causal=True):
    """q (B, H, T, D), {words}; k and v (B, H, S, D). Causal: each sees itself and what comes before."""
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    if is_causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v
'''


@pytest.mark.parametrize(
    ("words", "is_last"),
    (
        ("the T newest tokens of the sequence", True),
        ("where k has the cached tokens followed by those of q", True),
        ("the tokens", False),
    ),
)
def test_the_newest_tokens_are_the_last(loaded: Loaded, words: str, is_last: bool) -> None:
    found = loaded(NEWEST.replace("{words}", words))
    assert (check(found, tier="quick", diagnosis=False).exit_status == 1) is is_last


HALVES = '''
import numpy as np


def attention(q, k, v, mask=None):
    """mask: True may be attended."""
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]).astype(q.dtype)
    if mask is not None:
        scores = scores + (1 - mask.astype(q.dtype)) * np.asarray(-1e9, q.dtype)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v
'''


def test_a_finite_number_that_is_lost_in_float16_is_said(loaded: Loaded) -> None:
    words = "in float16 it gives NaN where a key is hidden"
    assert words in loaded(HALVES).operations["scaled_dot_product_attention"].form.words
    kept = loaded(HALVES.replace("-1e9", "-3e4"))
    assert words not in kept.operations["scaled_dot_product_attention"].form.words


ROTATED = '''
import torch


def rotate_half(x):
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat((-x2, x1), dim=-1)


def apply_rotary_pos_emb(q, k, cos, sin):
    """cos and sin (L, D), q and k (B, H, L, D)."""
    return q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin
'''


def test_a_rotation_that_is_right_for_queries_alone_is_read_as_it_is_there(loaded: Loaded) -> None:
    assert loaded(ROTATED).operations["rotary_embedding"].form.pick.kind == "both"
    wrong = loaded(ROTATED.replace("rotate_half(k) * sin", "rotate_half(k) * cos"))
    form = wrong.operations["rotary_embedding"].form
    assert "halves alike" in form.description and form.pick.at == 1
    assert check(wrong, tier="quick", diagnosis=False).exit_status == 1
