"""Functions whose kinds were judged without need, or passed in silence, in a fourteenth set of strangers' files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from veriformer import check

WRONG_WIDTH = "scale_by_d_model_not_head_dim"


def failed(report: Any) -> set[str]:
    return {one.law.id for one in report.results if one.status in ("failed", "error")}


def named(report: Any) -> list[tuple[str, ...]]:
    return [suspect.mistakes for diagnosis in report.diagnoses for suspect in diagnosis.suspects]


# Attention that is told how many heads stand side by side, with a mask of padding or lengths.
HEADS = """
import numpy as np


def multihead_attention(q, k, v, num_heads, lengths=None):
    B, L, E = q.shape
    S, d = k.shape[1], E // num_heads
    heads = lambda x: x.reshape(B, -1, num_heads, d).transpose(0, 2, 1, 3)
    logits = heads(q) @ heads(k).swapaxes(-1, -2) / np.sqrt(d)
    if lengths is not None:
        logits = np.where((np.arange(S) < lengths[:, None])[:, None, None], logits, -1e30)
    weights = np.exp(logits - logits.max(-1, keepdims=True))
    weights = weights / weights.sum(-1, keepdims=True)
    return (weights @ heads(v)).transpose(0, 2, 1, 3).reshape(B, L, E)
"""
WITHOUT_SAMPLES = """
import numpy as np


def mha(q, k, v, n_head):
    L, E = q.shape
    heads = lambda x: x.reshape(-1, n_head, E // n_head).transpose(1, 0, 2)
    logits = heads(q) @ heads(k).swapaxes(-1, -2) / np.sqrt(E // n_head)
    weights = np.exp(logits - logits.max(-1, keepdims=True))
    weights = weights / weights.sum(-1, keepdims=True)
    return (weights @ heads(v)).transpose(1, 0, 2).reshape(L, E)
"""
PADDED = """
import math

import torch


def mha(q, k, v, num_heads, key_padding_mask=None):
    B, L, E = q.shape
    q, k, v = (x.view(B, -1, num_heads, E // num_heads).transpose(1, 2) for x in (q, k, v))
    logits = q @ k.transpose(-1, -2) / math.sqrt(E // num_heads)
    if key_padding_mask is not None:
        logits = logits.masked_fill(key_padding_mask[:, None, None, :], float("-inf"))
    return (logits.softmax(-1) @ v).transpose(1, 2).reshape(B, L, E)
"""


@pytest.mark.parametrize(
    ("text", "right", "wrong"),
    [
        (HEADS, "np.sqrt(d)", "np.sqrt(E)"),
        (WITHOUT_SAMPLES, "np.sqrt(E // n_head)", "np.sqrt(E)"),
        (PADDED, "math.sqrt(E // num_heads)", "math.sqrt(E)"),
    ],
)
def test_who_is_told_the_number_of_heads_is_told_several(tmp_path: Path, text: str, right: str, wrong: str) -> None:
    file = tmp_path / "mine.py"
    file.write_text(text)
    assert not failed(check(file, tier="quick"))
    assert right in text
    file.write_text(text.replace(right, wrong))
    report = check(file, tier="quick")
    assert "attention.scale" in failed(report)
    assert (WRONG_WIDTH,) in named(report)


# A norm that names its axis is none of one vector.
def layer_norm(x: Any, gamma: Any, beta: Any, eps: float = 1e-5) -> Any:
    return gamma * (x - x.mean(axis=0)) / np.sqrt(x.var(axis=0) + eps) + beta


def test_a_norm_along_a_wrong_axis_is_not_right_for_one_vector() -> None:
    assert "layer_norm.zero_mean" in failed(check({"layer_norm": layer_norm}, tier="quick"))


# A class that calls itself a batch norm.
class BatchNorm1d:
    def __init__(self, num_features: int, eps: float = 1e-5) -> None:
        numbers = np.random.default_rng(0)
        self.gamma, self.beta, self.eps = numbers.normal(size=num_features), numbers.normal(size=num_features), eps

    def __call__(self, x: Any) -> Any:
        return self.gamma * (x - x.mean(axis=0)) / np.sqrt(x.var(axis=0) + self.eps) + self.beta


def test_a_batch_norm_is_no_wrong_layer_norm() -> None:
    report: Any = check(BatchNorm1d(8), inputs=(np.random.default_rng(2).normal(size=(5, 4, 8)),), isolate=False)
    assert not report.departures


# Sizes by their words.
class T5Attention(torch.nn.Module):
    def __init__(self, d_model: int, d_kv: int, num_heads: int, ffn_size: int) -> None:
        super().__init__()
        self.maps = torch.nn.ModuleList(torch.nn.Linear(d_model, num_heads * d_kv, bias=False) for _ in range(3))
        self.out = torch.nn.Linear(num_heads * d_kv, d_model, bias=False)
        self.inner, self.back = torch.nn.Linear(d_model, ffn_size), torch.nn.Linear(ffn_size, d_model)
        self.heads = num_heads

    def forward(self, x: Any) -> Any:
        q, k, v = (one(x).view(*x.shape[:2], self.heads, -1).transpose(1, 2) for one in self.maps)
        x = x + self.out(((q @ k.mT).softmax(-1) @ v).transpose(1, 2).flatten(2))
        return x + self.back(self.inner(x).relu())


def test_sizes_are_guessed_by_their_words() -> None:
    report: Any = check(f"{__file__}:T5Attention")
    assert any("d_kv = 6" in one and "ffn_size = 40" in one for one in report.notices)
    assert report.is_recognised


# Attention that adds ALiBi's biases where it is asked to.
def attend(q: Any, k: Any, v: Any, *, use_alibi: bool = False) -> Any:
    """(B, H, L, D)"""
    logits = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if use_alibi:
        distance = np.arange(k.shape[2])[None] - np.arange(q.shape[2])[:, None]
        logits = logits + alibi_slopes(q.shape[1])[:, None, None] * distance
    weights = np.exp(logits - logits.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v


def alibi_slopes(heads: int) -> Any:
    return 2.0 ** (-8.0 * np.arange(1, heads + 1) / heads)


def attend_twice_scaled(q: Any, k: Any, v: Any, *, use_alibi: bool = False) -> Any:
    return attend(q / np.sqrt(q.shape[-1]), k, v, use_alibi=use_alibi)


def test_an_attention_that_may_add_biases_is_judged_without_them() -> None:
    assert not failed(check({"attend": attend}, tier="quick"))
    assert "attention.scale" in failed(check({"attend": attend_twice_scaled}, tier="quick"))


# An optimizer of several arrays, whose count of steps moves on once for each of them.
ADAM = """
import numpy as np


class AdamW:
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
        self.params, self.lr, self.betas, self.eps, self.wd, self.t = params, lr, betas, eps, weight_decay, 0
        self.m = {key: np.zeros_like(one) for key, one in params.items()}
        self.v = {key: np.zeros_like(one) for key, one in params.items()}

    def step(self, grads):
        (b1, b2) = self.betas
        self.t += 1
        for key, one in self.params.items():
            self.m[key] = b1 * self.m[key] + (1 - b1) * grads[key]
            self.v[key] = b2 * self.v[key] + (1 - b2) * grads[key] ** 2
            one -= self.lr * self.wd * one
            one -= self.lr * (self.m[key] / (1 - b1**self.t)) / (np.sqrt(self.v[key] / (1 - b2**self.t)) + self.eps)
"""


@pytest.mark.parametrize("name", ["", ":AdamW"])
def test_an_optimizer_moves_each_parameter_as_alone(tmp_path: Path, name: str) -> None:
    file = tmp_path / "mine.py"
    file.write_text(ADAM)
    assert not failed(check(f"{file}{name}", tier="quick"))
    of_each = "items():\n            self.m"
    text = ADAM.replace("        self.t += 1\n", "").replace(
        of_each, of_each.replace("self.m", "self.t += 1\n            self.m")
    )
    file.write_text(text)
    assert "adamw.constant_gradient" in failed(check(f"{file}{name}", tier="quick"))


# A count for each parameter, and moments that the first call makes.
OF_LISTS = """
import torch


class AdamW:
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
        self.params, self.lr, self.eps, self.weight_decay = list(params), lr, eps, weight_decay
        self.beta1, self.beta2 = betas
        self.t = [0] * len(self.params)
        self.m = [torch.zeros_like(p) for p in self.params]
        self.v = [torch.zeros_like(p) for p in self.params]

    @torch.no_grad()
    def step(self):
        for i, (p, m, v) in enumerate(zip(self.params, self.m, self.v)):
            self.t[i] += 1
            p.mul_(1 - self.lr * self.weight_decay)
            m.mul_(self.beta1).add_(p.grad, alpha=1 - self.beta1)
            v.mul_(self.beta2).addcmul_(p.grad, p.grad, value=1 - self.beta2)
            denominator = (v / (1 - self.beta2 ** self.t[i])).sqrt().add_(self.eps)
            p.addcdiv_(m / (1 - self.beta1 ** self.t[i]), denominator, value=-self.lr)
"""
MADE_LATER = """
import numpy as np


class Adam:
    def __init__(self, lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8):
        self.lr, self.beta1, self.beta2, self.eps, self.iter, self.m, self.v = lr, beta1, beta2, eps, 0, None, None

    def update(self, params, grads):
        if self.m is None:
            self.m = {key: np.zeros_like(one) for key, one in params.items()}
            self.v = {key: np.zeros_like(one) for key, one in params.items()}
        self.iter += 1
        for key in params:
            self.m[key] = self.beta1 * self.m[key] + (1 - self.beta1) * grads[key]
            self.v[key] = self.beta2 * self.v[key] + (1 - self.beta2) * grads[key] ** 2
            root = np.sqrt(self.v[key] / (1 - self.beta2 ** self.iter)) + self.eps
            params[key] -= self.lr * self.m[key] / (1 - self.beta1 ** self.iter) / root
"""


@pytest.mark.parametrize(
    ("text", "right", "wrong"),
    [
        (OF_LISTS, "(1 - self.beta1 ** self.t[i])", "(1 - self.beta1)"),
        (MADE_LATER, "(1 - self.beta2 ** self.iter)", "(1 - self.beta2)"),
    ],
)
def test_counts_and_moments_of_optimizers_are_found(tmp_path: Path, text: str, right: str, wrong: str) -> None:
    file = tmp_path / "mine.py"
    file.write_text(text)
    assert not failed(check(file, tier="quick"))
    assert right in text
    file.write_text(text.replace(right, wrong))
    assert any(one.startswith("adamw.") for one in failed(check(file, tier="quick")))


# Attention that is causal for as many queries as keys alone, and takes no mask.
def block_attention(q: Any, k: Any, v: Any, causal: bool = False, offset: int = 1, block: int = 4) -> Any:
    """q, k, v: (L, D), one head."""
    assert len(q) == len(k) or not causal
    logits = q @ k.T / np.sqrt(q.shape[-1])
    if causal:
        rows = np.arange(len(q))
        rows = rows - (1 - offset) * (rows // block) * block
        logits = np.where(np.arange(len(k))[None] <= rows[:, None], logits, -np.inf)
    weights = np.exp(logits - logits.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v


def rows_of_the_first_block(q: Any, k: Any, v: Any, causal: bool = False) -> Any:
    return block_attention(q, k, v, causal, offset=0)


def always_causal(q: Any, k: Any, v: Any) -> Any:
    return block_attention(q, k, v, causal=True)


def test_a_causal_flag_shows_all_that_is_not_later() -> None:
    assert not failed(check({"attention": block_attention}))
    assert "attention.causal.prefix" in failed(check({"attention": rows_of_the_first_block}))
    report = check({"attention": always_causal})
    assert not failed(report)
    assert "attention.causal.prefix" in {one.law.id for one in report.results if one.status == "passed"}
