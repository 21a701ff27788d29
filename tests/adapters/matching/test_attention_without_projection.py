"""An attention class without an output projection is judged; so is a class of NumPy that is built of its weights."""

from __future__ import annotations

import pytest
from veriformer.conformance_tests.run.checking_models import check_model

CAUSAL = """
import torch
from torch import nn


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, qkv_bias=False):
        super().__init__()
        self.W_query, self.W_key, self.W_value = (nn.Linear(d_in, d_out, bias=qkv_bias) for _ in range(3))
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), diagonal=1))

    def forward(self, x):
        n = x.shape[1]
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = (q @ k.transpose(1, 2)).masked_fill(self.mask.bool()[:n, :n], -torch.inf)
        return torch.softmax(scores / k.shape[-1] ** 0.5, dim=-1) @ v
"""
OF_HEADS = """
import torch
from torch import nn


class BertAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.heads, self.size = config.num_attention_heads, config.hidden_size // config.num_attention_heads
        self.query, self.key, self.value = (nn.Linear(config.hidden_size, config.hidden_size) for _ in range(3))

    def forward(self, hidden_states):
        q, k, v = (
            one(hidden_states).unflatten(-1, (self.heads, self.size)).transpose(1, 2)
            for one in (self.query, self.key, self.value)
        )
        weights = (q @ k.mT / self.size**0.5).softmax(-1)
        return (weights @ v).transpose(1, 2).flatten(2), weights
"""
ROTARY = """
import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention


class RotaryAttention(nn.Module):
    def __init__(self, dim, n_heads):
        super().__init__()
        self.n_heads, self.qkv = n_heads, nn.Linear(dim, 3 * dim, bias=False)

    def turned(self, x):
        width, length = x.shape[-1], x.shape[-2]
        rates = 10000 ** (-torch.arange(0, width, 2, dtype=x.dtype) / width)
        angles = torch.arange(length, dtype=x.dtype)[:, None] * rates
        a, b = x.chunk(2, -1)
        return torch.cat([a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()], -1)

    def forward(self, x):
        q, k, v = (one.unflatten(-1, (self.n_heads, -1)).transpose(1, 2) for one in self.qkv(x).chunk(3, -1))
        mixed = scaled_dot_product_attention(self.turned(q), self.turned(k), v, is_causal=True)
        return mixed.transpose(1, 2).flatten(2)
"""
OF_WEIGHTS = """
import numpy as np


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


class MultiHeadAttention:
    def __init__(self, wq, wk, wv, wo, n_heads):
        self.wq, self.wk, self.wv, self.wo, self.n_heads = wq, wk, wv, wo, n_heads

    def split(self, x):
        return x.reshape(*x.shape[:2], self.n_heads, -1).transpose(0, 2, 1, 3)

    def __call__(self, x):
        q, k, v = (self.split(x @ w) for w in (self.wq, self.wk, self.wv))
        mixed = softmax(q @ k.transpose(0, 1, 3, 2) / np.sqrt(q.shape[-1])) @ v
        return mixed.transpose(0, 2, 1, 3).reshape(x.shape) @ self.wo


class FeedForward:
    def __init__(self, w1, b1, w2, b2):
        self.w1, self.b1, self.w2, self.b2 = w1, b1, w2, b2

    def forward(self, x):
        return np.maximum(x @ self.w1 + self.b1, 0) @ self.w2 + self.b2
"""
RANDOM = """
import jax
import jax.numpy as jnp
import flax.linen as nn


class Head(nn.Module):
    size: int = 12

    @nn.compact
    def __call__(self, x):
        q, k, v = (nn.Dense(self.size, use_bias=False)(x) for _ in range(3))
        scores = q @ k.swapaxes(-1, -2) / self.size**0.5
        scores = jnp.where(jnp.tril(jnp.ones((x.shape[1], x.shape[1]))) == 0, -jnp.inf, scores)
        return jax.nn.softmax(scores, -1) @ v
"""


def report_on(folder, text, name):
    (folder / "mine.py").write_text(text)
    return check_model(f"{folder / 'mine.py'}:{name}")


@pytest.mark.parametrize(
    ("text", "name", "framework", "wrong", "mistake"),
    [
        (CAUSAL, "CausalAttention", "torch", ("diagonal=1", "diagonal=2"), "causal_diagonal_off_by_one"),
        (CAUSAL, "CausalAttention", "torch", (" / k.shape[-1] ** 0.5", ""), "scale_missing"),
        (OF_HEADS, "BertAttention", "torch", ("self.size**0.5", "24**0.5"), "scale_by_d_model_not_head_dim"),
        (OF_WEIGHTS, "MultiHeadAttention", "numpy", ("q.shape[-1])) @ v", "x.shape[-1])) @ v"), "scale_by_d_model"),
        (RANDOM, "Head", "jax", (" / self.size**0.5", ""), "scale_missing"),
    ],
)
def test_a_right_one_holds_and_a_wrong_one_departs_by_name(tmp_path, text, name, framework, wrong, mistake):
    pytest.importorskip(framework)
    right = report_on(tmp_path, text, name)
    assert right.exit_status == 0, right.headline
    report = report_on(tmp_path, text.replace(*wrong), name)
    assert report.exit_status == 1
    assert any(suspect.name.startswith(mistake) for one in report.departures for suspect in one.suspects)


def test_what_else_it_does_right_is_no_mistake(tmp_path):
    pytest.importorskip("torch")
    report = report_on(tmp_path, ROTARY, "RotaryAttention")
    assert report.exit_status == 0
    assert any("output projection" in notice for notice in report.notices)
    wrong = report_on(tmp_path, ROTARY.replace("self.turned(k)", "k"), "RotaryAttention")
    assert wrong.exit_status == 1


def test_a_network_of_its_weights_is_understood_with_its_biases(tmp_path):
    assert report_on(tmp_path, OF_WEIGHTS, "FeedForward").exit_status == 0


def test_what_is_no_attention_stays_unjudged(tmp_path):
    pytest.importorskip("torch")
    text = "import torch\nfrom torch import nn\n\n\nclass Mixer(nn.Module):\n    def __init__(self, dim):\n"
    text += "        super().__init__()\n        self.a, self.b = nn.Linear(dim, dim), nn.Linear(dim, dim)\n\n"
    text += "    def forward(self, x):\n        return self.a(x).cumsum(1) * self.b(x).sigmoid()\n"
    assert report_on(tmp_path, text, "Mixer").exit_status == 2
