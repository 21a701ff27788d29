"""Functions that were accused, or not judged, in a nineteenth set of strangers' files."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from veriformer.adapters.implementation import Implementation
from veriformer.conformance_tests import check

Loaded = Callable[..., Implementation]
BY_ANGLES = '''
import torch


def rope_angles(seq_len, head_dim, theta=10000.0):
    return torch.outer(torch.arange(seq_len), theta ** -(torch.arange(0, head_dim, 2) / head_dim))


def apply_rope_complex(x, angles):
    """x: (B, L, H, D), neighbouring channels form a pair."""
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    turns = torch.polar(torch.ones_like(angles), angles)[None, :, None, :]
    return torch.view_as_real(pairs * turns).flatten(-2).type_as(x)
'''
HALVES = """
import torch


def rotary(x, freqs):
    angles = torch.cat((freqs, freqs), dim=-1)[None, :, None, :]
    first, second = x.chunk(2, dim=-1)
    return x * angles.cos() + torch.cat((-second, first), dim=-1) * angles.sin()
"""


@pytest.mark.parametrize(
    ("text", "right", "wrong"), ((BY_ANGLES, "x.shape[:-1], -1, 2", ""), (HALVES, "-second", "second"))
)
def test_a_rotation_by_angles_is_judged(loaded: Loaded, text: str, right: str, wrong: str) -> None:
    found = loaded(text)
    assert "rotary_embedding" in found.operations
    assert check(found, tier="quick").counts["failed"] == 0
    if wrong:
        assert check(loaded(text.replace(right, wrong)), tier="quick").counts["failed"] > 0


ALONE = '''
import numpy as np


def cross_entropy_backward(logits, targets):
    """d/dlogits of the mean cross entropy. logits (N, V), targets (N,)"""
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    p[np.arange(len(targets)), targets] -= 1
    return p / len(targets)
'''


def test_a_gradient_of_the_mean_needs_no_gradient_of_the_output(loaded: Loaded) -> None:
    right = check(loaded(ALONE), tier="quick").counts
    assert right["passed"] and not right["failed"] + right["errors"]
    assert check(loaded(ALONE.replace("p / len(targets)", "p")), tier="quick").counts["failed"] > 0


IN_PARTS = '''
import math

import torch


def _part(q, k, v):
    logits = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(q.shape[-1])
    total = torch.logsumexp(logits, dim=-1)
    return torch.matmul(torch.exp(logits - total.unsqueeze(-1)), v), total


def chunked_attention(q, k, v, chunk=64):
    """q, k, v: (B, H, L, D)."""
    out, total = _part(q, k[:, :, :chunk], v[:, :, :chunk])
    for start in range(chunk, k.shape[2], chunk):
        other, its = _part(q, k[:, :, start : start + chunk], v[:, :, start : start + chunk])
        both = torch.logaddexp(total, its)
        out = torch.exp(total - both).unsqueeze(-1) * out + torch.exp(its - both).unsqueeze(-1) * other
        total = both
    return out, total
'''


def test_gradients_of_parts_round_as_much_as_their_averages_are_large(loaded: Loaded) -> None:
    assert check(loaded(IN_PARTS), laws="attention_backward.*").counts["failed"] == 0
    wrong = IN_PARTS.replace("torch.exp(its - both).unsqueeze(-1) * other", "other")
    assert check(loaded(wrong), laws="attention.*", tier="quick").counts["failed"] > 0
