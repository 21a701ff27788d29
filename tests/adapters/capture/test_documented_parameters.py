"""Functions of a dictionary of parameters whose shapes a file documents, and makes nowhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Report = Callable[..., Any]

GROUPED = '''
"""Grouped-query attention.

    w["q"]  [H*hd, d]      w["k"], w["v"]  [G*hd, d]      w["o"]  [d, H*hd]
"""
import torch
import torch.nn.functional as F


def gqa(x, w, n_heads, n_groups, past=None):
    B, T, d = x.shape
    hd = w["q"].shape[0] // n_heads
    q = F.linear(x, w["q"]).view(B, T, n_heads, hd).transpose(1, 2)
    k = F.linear(x, w["k"]).view(B, T, n_groups, hd).transpose(1, 2)
    v = F.linear(x, w["v"]).view(B, T, n_groups, hd).transpose(1, 2)
    if past is not None:
        k, v = torch.cat([past[0], k], dim=2), torch.cat([past[1], v], dim=2)
    k, v = (one.repeat_interleave(n_heads // n_groups, dim=1) for one in (k, v))
    hidden = torch.ones(T, k.shape[2], dtype=torch.bool).triu(1 + k.shape[2] - T)
    y = (q @ k.transpose(-1, -2) / hd ** 0.5).masked_fill(hidden, float("-inf")).softmax(-1) @ v
    return F.linear(y.transpose(1, 2).reshape(B, T, n_heads * hd), w["o"])
'''
ROWS = """
import jax
import jax.numpy as jnp

# emb [V, D]    ln1, ln2 [D]    wqkv [3, D, N, H]    wo [N, H, D]
# w_in [D, 2F]  the gate stands first    w_out [F, D]


def rms(x, gain):
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5) * gain


def attention(p, x):
    q, k, v = jnp.einsum("td,cdnh->ctnh", x, p["wqkv"])
    logits = jnp.einsum("inh,jnh->nij", q, k) * q.shape[-1] ** -0.5
    logits = jnp.where(jnp.tri(x.shape[0], dtype=bool), logits, -jnp.inf)
    return jnp.einsum("nij,jnh,nhd->id", jax.nn.softmax(logits, -1), v, p["wo"])


def swiglu(p, x):
    gate, value = jnp.split(x @ p["w_in"], 2, axis=-1)
    return (jax.nn.silu(gate) * value) @ p["w_out"]


def forward(p, tok):
    x = p["emb"][tok]
    x = x + attention(p, rms(x, p["ln1"]))
    x = x + swiglu(p, rms(x, p["ln2"]))
    return x @ p["emb"].T
"""


TILED = ("one.repeat_interleave(n_heads // n_groups, dim=1)", "one.repeat(1, 2, 1, 1)")
NORMED = ('x = x + swiglu(p, rms(x, p["ln2"]))', 'x = rms(x, p["ln2"])\n    x = x + swiglu(p, x)')


@pytest.mark.parametrize(
    ("text", "name", "words", "change", "mistake"),
    [
        (GROUPED, "gqa", "4 heads on 2, causal", TILED, "gqa_head_index_wrong"),
        (ROWS, "forward", "4 heads, causal", ("logits, -1), v", "logits, -2), v"), "softmax_wrong_axis"),
        (ROWS, "forward", "gated_feed_forward, silu", NORMED, "prenorm_residual_after_norm"),
    ],
    ids=("heads", "softmax", "residual"),
)
def test_parameters_of_documented_shapes_are_drawn(
    report_of: Report, text: str, name: str, words: str, change: tuple[str, str], mistake: str
) -> None:
    right = report_of(text, name)
    assert right.exit_status == 0
    assert any("of the shapes that its file documents" in one for one in right.notices)
    assert not any("does not read it" in one for one in right.notices)
    assert any(words in part.summary for part in right.recognition.parts)
    wrong = report_of(text, name, *change)
    assert mistake in [suspect.name for one in wrong.departures for suspect in one.suspects]


@pytest.mark.parametrize(
    "change",
    [('w["o"]  [d, H*hd]', "and the others"), ("[d, H*hd]", "[d, something]")],
    ids=("not documented", "not understood"),
)
def test_what_is_not_documented_is_not_guessed(report_of: Report, change: tuple[str, str]) -> None:
    with pytest.raises(Exception, match="required parameters"):
        report_of(GROUPED, "gqa", *change)
