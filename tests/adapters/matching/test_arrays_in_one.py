"""Inputs in one array or behind one: `qkv`, `kv`, hidden states with the last matrix; and masks that are made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from veriformer import check

pytest.importorskip("torch")

PACKED = '''
import torch

def attention(qkv{heads}):
    """Self-attention without a mask."""
    {unpacked}
    logits = torch.einsum("blhd,bshd->bhls", q, k) / {width} ** 0.5
    return torch.einsum("bhls,bshd->blhd", logits.softmax(-1), v){joined}
'''
UNPACKED = {
    "along an axis before the heads": ("", "q, k, v = qkv.unbind(2)", ""),
    "beside each other": (
        ", n_heads",
        "q, k, v = (one.unflatten(-1, (n_heads, -1)) for one in qkv.chunk(3, dim=-1))",
        ".flatten(2)",
    ),
    "of each head beside each other": (
        ", n_heads",
        "q, k, v = qkv.unflatten(-1, (n_heads, 3, -1)).unbind(3)",
        ".flatten(2)",
    ),
}
KEYS_AND_VALUES = """
import torch

def cross_attention(q, kv):
    k, v = kv[:, :, {first}], kv[:, :, {second}]
    logits = torch.einsum("blhd,bshd->bhls", q, k) * q.shape[-1] ** -0.5
    return torch.einsum("bhls,bshd->blhd", logits.softmax(-1), v)
"""
LINEAR = """
import torch
from torch.nn import functional

def linear_cross_entropy(hidden, weight, targets, ignore_index=-100):
    logits = hidden @ {matrix}
    total = functional.cross_entropy(
        logits.flatten(0, -2), targets.flatten(), ignore_index=ignore_index, reduction="sum"
    )
    return total / {number}
"""
KEPT = "(targets != ignore_index).sum().clamp(min=1)"
LENGTHS = '''
import numpy as np

def length_mask(lengths, max_len):
    """(B, S), {said}."""
    return np.arange(max_len)[None, :] {compared} np.asarray(lengths)[:, None]
'''
WARMUP = """
import math

def get_lr(it, max_lr=6e-4, min_lr=6e-5, warmup_iters=100, decay_iters=1000):
    if it < warmup_iters:
        return max_lr * (it + 1) / warmup_iters
    if it >= decay_iters:
        return min_lr
    share = (it - {begin}) / (decay_iters - {begin})
    return min_lr + 0.5 * (1 + math.cos(math.pi * share)) * (max_lr - min_lr)
"""
PARTIAL = """
import torch

def partial_rope(x, position_ids, rotary_dim, base):
    turned, kept = x[..., :rotary_dim], x[..., rotary_dim:]
    frequencies = base ** (-torch.arange(0, rotary_dim, 2, dtype=torch.float64) / {width})
    angles = position_ids[..., None].double() * frequencies
    cos, sin = (torch.cat([one, one], -1).to(x.dtype) for one in (angles.cos(), angles.sin()))
    if cos.ndim == 3:
        cos, sin = cos[:, None], sin[:, None]
    first, second = turned.chunk(2, -1)
    return torch.cat([turned * cos + torch.cat([-second, first], -1) * sin, kept], -1)
"""


def mistakes(found: Any) -> set[tuple[str, ...]]:
    report = check(found, tier="quick")
    return {suspect.mistakes for one in report.diagnoses for suspect in one.suspects[:1]}


@pytest.mark.parametrize("order", UNPACKED)
def test_queries_keys_and_values_in_one_array(loaded: Callable[..., Any], order: str) -> None:
    heads, unpacked, joined = UNPACKED[order]
    text = PACKED.format(heads=heads, unpacked=unpacked, joined=joined, width="q.shape[-1]")
    found = loaded(text)
    assert f"`qkv`: query, key, value {order}" in found.notices[0]
    assert check(found, tier="quick").exit_status == 0
    assert mistakes(loaded(text.replace("q.shape[-1] **", "qkv.shape[1] **"))) == {("scale_by_wrong_axis",)}


def test_keys_and_values_in_one_array(loaded: Callable[..., Any]) -> None:
    found = loaded(KEYS_AND_VALUES.format(first=0, second=1))
    assert "`kv`: key, value along an axis before the heads" in found.notices[0]
    assert check(found, tier="quick").exit_status == 0
    assert check(loaded(KEYS_AND_VALUES.format(first=0, second=0)), tier="quick").exit_status == 1


@pytest.mark.parametrize(("matrix", "kind"), [("weight.T", "a row"), ("weight", "a column")])
def test_a_loss_of_hidden_states(loaded: Callable[..., Any], matrix: str, kind: str) -> None:
    found = loaded(LINEAR.format(matrix=matrix, number=KEPT))
    assert f"logits are `hidden` times `weight`, {kind} for each class" in found.notices[0]
    assert check(found, tier="quick").exit_status == 0
    wrong = loaded(LINEAR.format(matrix=matrix, number="targets.numel()"))
    assert mistakes(wrong) == {("loss_denominator_counts_padding",)}


@pytest.mark.parametrize(
    ("said", "compared", "status"),
    [("a mask", "<", 0), ("a mask", ">=", 0), ("True on padding", ">=", 0), ("True on padding", "<", 1)],
)
def test_a_mask_of_lengths_may_be_true_at_padding(
    loaded: Callable[..., Any], said: str, compared: str, status: int
) -> None:
    assert check(loaded(LENGTHS.format(said=said, compared=compared)), tier="quick").exit_status == status


def test_a_warmup_that_counts_the_first_step(loaded: Callable[..., Any]) -> None:
    found = loaded(WARMUP.format(begin="warmup_iters"))
    assert "its warm-up counts the first step as 1" in found.notices[0]
    assert check(found, tier="quick").exit_status == 0
    assert check(loaded(WARMUP.format(begin="0")), tier="quick").exit_status == 1


def test_a_rotation_that_must_be_told_its_width(loaded: Callable[..., Any]) -> None:
    assert check(loaded(PARTIAL.format(width="rotary_dim")), tier="quick").exit_status == 0
    assert check(loaded(PARTIAL.format(width="x.shape[-1]")), tier="quick").exit_status == 1


def test_a_rotation_that_is_told_its_first_position(loaded: Callable[..., Any]) -> None:
    text = """
import torch

def rope(x, {name}=0, base=10000.0):
    frequencies = base ** (-torch.arange(0, x.shape[-1], 2, dtype=torch.float64) / x.shape[-1])
    places = torch.arange(x.shape[-2])[:, None]
    cos, sin = ((places + {name}) * frequencies).cos(), ((places{also}) * frequencies).sin()
    first, second = x[..., ::2], x[..., 1::2]
    cos, sin = cos.to(x.dtype), sin.to(x.dtype)
    return torch.stack([first * cos - second * sin, first * sin + second * cos], -1).flatten(-2)
"""
    found = loaded(text.format(name="past_len", also=" + past_len"))
    assert "`past_len`: the position of the first row" in found.notices[0]
    assert check(found, tier="quick").exit_status == 0
    assert check(loaded(text.format(name="past_len", also="")), tier="quick").exit_status == 1


def test_keys_that_are_dropped_are_no_causal_mask(loaded: Callable[..., Any]) -> None:
    text = """
import numpy as np

def split_kv_attention(q, k, v, num_splits=4):
    size = {size}
    parts = []
    for start in range(0, {end}, size):
        logits = q @ k[..., start:start + size, :].swapaxes(-1, -2) / np.sqrt(q.shape[-1])
        top = logits.max(-1, keepdims=True)
        weights = np.exp(logits - top)
        parts.append((top, weights.sum(-1, keepdims=True), weights @ v[..., start:start + size, :]))
    largest = np.max([top for top, _, _ in parts], axis=0)
    total = sum(np.exp(top - largest) * number for top, number, _ in parts)
    return sum(np.exp(top - largest) * values for top, _, values in parts) / total
"""
    right = text.format(size="-(-k.shape[-2] // num_splits)", end="k.shape[-2]")
    assert check(loaded(right), tier="quick").exit_status == 0
    wrong = text.format(size="max(k.shape[-2] // num_splits, 1)", end="min(size * num_splits, k.shape[-2])")
    assert mistakes(loaded(wrong)) == {("block_tail_dropped",)}


def test_optional_inputs_that_no_law_passes_are_named(loaded: Callable[..., Any]) -> None:
    text = """
import numpy as np

def next_token_loss(logits, tokens, attention_mask=None):
    logits, tokens = logits[:, :-1].astype(np.float64), tokens[:, 1:]
    largest = logits.max(-1, keepdims=True)
    sums = np.log(np.exp(logits - largest).sum(-1)) + largest[..., 0]
    return (sums - np.take_along_axis(logits, tokens[..., None], -1)[..., 0]).mean()
"""
    assert any("is called without `attention_mask`" in notice for notice in loaded(text).notices)


def test_parts_that_are_merged_may_be_lists(loaded: Callable[..., Any]) -> None:
    text = """
import numpy as np

def merge_states(outs, lses):
    stacked = np.stack(lses)
    top = stacked.max(0)
    shares = np.exp(stacked - top)
    total = shares.sum(0)
    return sum(share[..., None] * one for share, one in zip(shares, outs)) / {divisor}, top + np.log(total)
"""
    found = loaded(text.format(divisor="total[..., None]"))
    assert "`outs`: output_a, output_b in a list" in found.notices[0]
    assert "two parts without keys give NaN" in found.notices[0]
    assert check(found, tier="quick").exit_status == 0
    assert check(loaded(text.format(divisor="len(outs)")), tier="quick").exit_status == 1


def test_gate_and_up_in_one_matrix(loaded: Callable[..., Any]) -> None:
    text = """
import torch
from torch.nn import functional

def swiglu_fused(x, {name}, w_down):
    first, second = functional.linear(x, {name}).chunk(2, dim=-1)
    return functional.linear(functional.silu({gate}) * {up}, w_down)
"""
    right = loaded(text.format(name="w_gate_up", gate="first", up="second"))
    assert right.taken_as == {"swiglu_fused": "gated_feed_forward"}
    assert check(right, tier="quick").exit_status == 0
    assert check(loaded(text.format(name="w_gate_up", gate="second", up="first")), tier="quick").exit_status == 1
    assert check(loaded(text.format(name="w_up_gate", gate="second", up="first")), tier="quick").exit_status == 0


def test_a_norm_that_adds_the_residual_first(loaded: Callable[..., Any]) -> None:
    text = """
import torch

def add_rms_norm(x, residual, weight, eps=1e-6):
    h = {summed}
    return h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + eps) * weight, h
"""
    right = loaded(text.format(summed="x + residual"))
    assert "of `x` + `residual`" in right.notices[0]
    assert check(right, tier="quick").exit_status == 0
    assert check(loaded(text.format(summed="x")), tier="quick").exit_status == 1


@pytest.mark.parametrize(("z_loss", "status"), [("z_coef * lse**2", 0), ("lse - z_coef * lse**2", 1)])
def test_a_loss_of_hidden_states_and_of_next_tokens(loaded: Callable[..., Any], z_loss: str, status: int) -> None:
    text = """
import torch

def chunked_lm_loss(hidden, lm_head, labels, ignore_index=-100, z_coef=0.0):
    logits, targets = hidden[:, :-1] @ lm_head.T, labels[:, 1:]
    lse, kept = logits.logsumexp(-1), targets != ignore_index
    picked = logits.gather(-1, targets.clamp(min=0)[..., None])[..., 0]
    return torch.where(kept, lse - picked + {z_loss}, 0.0).sum() / kept.sum().clamp(min=1)
"""
    found = loaded(text.format(z_loss=z_loss))
    assert found.taken_as == {"chunked_lm_loss": "next_token_loss"}
    assert check(found, tier="quick").exit_status == status


@pytest.mark.parametrize(("paired", "status"), [("[-second, first]", 0), ("[second, -first]", 1)])
def test_a_rotation_that_is_given_its_frequencies(loaded: Callable[..., Any], paired: str, status: int) -> None:
    text = """
import torch

def half_turned(x):
    first, second = x.chunk(2, -1)
    return torch.cat({paired}, -1)

def apply_rope(q, k, position_ids, inv_freq):
    angles = position_ids[..., None].double() * inv_freq.double()
    cos, sin = (torch.cat([one, one], -1).to(q.dtype)[..., None, :, :] for one in (angles.cos(), angles.sin()))
    return q * cos + half_turned(q) * sin, k * cos + half_turned(k) * sin
"""
    found = loaded(text.format(paired=paired))
    assert "`inv_freq`: the frequencies (D/2,)" in " ".join(found.notices)
    assert check(found, tier="quick").exit_status == status
