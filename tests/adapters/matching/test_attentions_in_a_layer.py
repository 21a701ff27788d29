"""Attentions that turn, normalise or bias by themselves: they are read as part of a layer, and accused of nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from veriformer.adapters.matching.more_than_attention import attentions_in, more_than_attention
from veriformer.cli.rest_of_file import reports_of
from veriformer.conformance_tests.run.checking import check
from veriformer.conformance_tests.run.checking_models import check_model, checked

ROTATED = """
import math

import torch


def rotate(x, base=10000.0):
    half = x.shape[-1] // 2
    angles = torch.arange(x.shape[-2])[:, None] * base ** (-torch.arange(half) / half)
    a, b = x.chunk(2, -1)
    return torch.cat([a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()], -1)


def causal_attention(q, k, v):
    q, k = rotate(q), rotate(k)
    logits = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    n = q.shape[-2]
    return logits.masked_fill(torch.ones(n, n, dtype=torch.bool).triu(1), float("-inf")).softmax(-1) @ v
"""
TABLES = """
import numpy as np


def rope(x, cos, sin):
    a, b = np.split(x, 2, axis=-1)
    return np.concatenate([a * cos - b * sin, a * sin + b * cos], -1)


def attend(q, k, v, cos, sin):
    q, k = rope(q, cos[:, None], sin[:, None]), rope(k, cos[:, None], sin[:, None])
    logits = np.einsum("qhd,khd->hqk", q, k) / np.sqrt(q.shape[-1])
    logits = np.where(np.tri(len(q), dtype=bool), logits, -np.inf)
    weights = np.exp(logits - logits.max(-1, keepdims=True))
    return np.einsum("hqk,khd->qhd", weights / weights.sum(-1, keepdims=True), v)
"""
SLOPES = """
import jax
import jax.numpy as jnp


def attention(query, key, value, slopes):
    n = query.shape[1]
    logits = jnp.einsum("bqhd,bkhd->bhqk", query, key) * query.shape[-1] ** -0.5
    distance = jnp.arange(n)[:, None] - jnp.arange(n)[None, :]
    logits = jnp.where(distance >= 0, logits - slopes[:, None, None] * distance, -jnp.inf)
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(logits, axis=-1), value)
"""
BUCKETS = """
import math

import torch


def buckets(distance, count=32, furthest=128):
    distance = distance.clamp(min=0)
    exact = count // 2
    log = torch.log(distance.clamp(min=1).float() / exact) / math.log(furthest / exact)
    return torch.where(distance < exact, distance, (exact + (log * (count - exact)).long()).clamp(max=count - 1))


def t5_attend(q, k, v, rel_bias):
    place = torch.arange(q.shape[-2])
    distance = place[:, None] - place
    logits = q @ k.transpose(-1, -2) + rel_bias[buckets(distance)].permute(2, 0, 1)
    return logits.masked_fill(distance < 0, -torch.inf).softmax(-1) @ v
"""
LINEAR = """
import torch


def linear_attention(q, k, v):
    q, k = torch.nn.functional.elu(q) + 1, torch.nn.functional.elu(k) + 1
    return q @ (k.transpose(-2, -1) @ v) / (q @ k.sum(-2, keepdim=True).transpose(-2, -1))
"""


def reports(tmp_path: Path, text: str) -> list[Any]:
    file = tmp_path / "mine.py"
    file.write_text(text)

    def report_of(source: str) -> Any:
        return checked(source, lambda: check_model(source), lambda: check(source, tier="quick"))

    return reports_of(str(file), report_of, whole=True)


@pytest.mark.parametrize(
    ("text", "name", "words"),
    [
        (ROTATED, "causal_attention", "causal, rotary, half pairing, width 8, base 10000"),
        (TABLES, "attend", "causal, rotary, half pairing, width 8, base 10000"),
        (SLOPES, "attention", "causal, ALiBi"),
        (BUCKETS, "t5_attend", "a bias by bucket of distance of earlier keys"),
    ],
    ids=("turned", "by tables", "with slopes", "by buckets"),
)
def test_a_right_attention_that_does_more_is_read_in_a_layer(tmp_path: Path, text: str, name: str, words: str) -> None:
    found = reports(tmp_path, text)
    (layer,) = (one for one in found if getattr(one, "recognition", None) is not None)
    assert layer.implementation.endswith(f":{name}")
    assert not layer.departures
    assert any(words in part.summary for part in layer.recognition.parts)
    assert all(one.exit_status == 0 for one in found)


@pytest.mark.parametrize(
    ("text", "old", "new", "mistake"),
    [
        (ROTATED, "rotate(q), rotate(k)", "rotate(q), k", "turned_heads=queries_only"),
        (ROTATED, "math.sqrt(q.shape[-1])", "q.shape[-1]", "scale_applied_twice"),
        (ROTATED, ".triu(1)", ".triu(2)", "causal_diagonal_off_by_one"),
        (TABLES, "weights.sum(-1", "weights.sum(-2", "softmax_wrong_axis"),
        (SLOPES, "logits - slopes", "logits + slopes", "alibi_sign_flipped"),
    ],
)
def test_a_wrong_attention_that_does_more_is_named(tmp_path: Path, text: str, old: str, new: str, mistake: str) -> None:
    assert old in text
    found = reports(tmp_path, text.replace(old, new))
    suspects = [suspect.name for one in found for item in getattr(one, "departures", ()) for suspect in item.suspects]
    assert any(name.startswith(mistake) for name in suspects), suspects


# Right attentions of other kinds, as their names or documentation say.
LOCAL = '''
import torch


def near(q, k, v):
    """Local attention: each query sees the keys at most 3 places away."""
    place = torch.arange(q.shape[-2])
    logits = (q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5).masked_fill((place[:, None] - place).abs() > 3, -torch.inf)
    return logits.softmax(-1) @ v
'''
ONE_MORE = '''
import torch


def attention(q, k, v):
    """Attention whose softmax has one more in the denominator, so that a head may attend to nothing."""
    logits = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    largest = logits.amax(-1, keepdim=True).clamp(min=0)
    weights = (logits - largest).exp()
    return weights / (weights.sum(-1, keepdim=True) + (-largest).exp()) @ v
'''
BEST = """
import torch


def topk_attention(q, k, v, keep=3):
    logits = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    least = logits.topk(min(keep, logits.shape[-1]), dim=-1).values[..., -1:]
    return logits.masked_fill(logits < least, float("-inf")).softmax(-1) @ v
"""


def test_what_is_left_as_by_default_is_said(tmp_path: Path) -> None:
    found = reports(tmp_path, ROTATED.replace("(q, k, v):", "(q, k, v, window_size=None):"))
    (layer,) = (one for one in found if getattr(one, "recognition", None) is not None)
    assert any("heads as (B, H, L, D), `window_size` None, as by default" in one for one in layer.notices)


@pytest.mark.parametrize(
    ("text", "words"),
    [(LOCAL, "window of 3 keys before and 3 after"), (ONE_MORE, "sinks of 0"), (BEST, "masked")],
    ids=("local", "one more", "best keys"),
)
def test_a_right_attention_of_another_kind_is_accused_of_nothing(tmp_path: Path, text: str, words: str) -> None:
    (layer,) = reports(tmp_path, text)
    assert layer.exit_status == 0
    assert any(words in part.summary for part in layer.recognition.parts)


def test_attention_of_another_kind_is_not_judged_and_not_accused(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="too little of it was recognised"):
        reports(tmp_path, LINEAR)


def test_names_say_what_an_attention_does_besides(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(ROTATED)
    assert attentions_in(str(file)) == ["causal_attention"]
    assert attentions_in(str(tmp_path / "none.py")) == []

    def plain(q: Any, k: Any, v: Any) -> Any:
        normaliser = q @ k
        return normaliser @ v

    assert more_than_attention(plain) == ""
