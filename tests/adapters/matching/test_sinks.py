"""Attention that must be given sinks, and always causal attention whose queries are the last rows."""

from __future__ import annotations

from pathlib import Path

import pytest
from veriformer import check

SINKS = '''
import torch


def attention_with_sinks(q, k, v, sinks):
    """Causal attention. q, k, v: SHAPE; sinks: (heads,), a logit of each head that has no value."""
    length = q.shape[-2]
    logits = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
    logits = logits.masked_fill(torch.ones(length, k.shape[-2]).triu(1).bool(), float("-inf"))
    beside = sinks.view(-1, 1, 1).expand(*q.shape[:-1], 1)
    weights = torch.softmax(torch.cat([logits, beside], -1), -1)[..., :-1]
    return weights @ v
'''
FROM_THE_END = '''
import torch


def causal_attention(q, k, v):
    """q: (B, Tq, H, D); k, v: (B, Tk, H, D). The queries are the last Tq positions."""
    q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
    rows = torch.arange(q.shape[2]) + (k.shape[2] - q.shape[2])
    hidden = torch.arange(k.shape[2])[None, :] > rows[:, None]
    logits = (q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5).masked_fill(hidden, float("-inf"))
    return (torch.softmax(logits, -1) @ v).transpose(1, 2)
'''


def written(folder: Path, text: str) -> str:
    file = folder / "own.py"
    file.write_text(text)
    return str(file)


@pytest.mark.parametrize(
    ("shape", "layout"), [("(B, heads, seq, dim)", "(B, H, L, D)"), ("(heads, seq, dim)", "(H, L, D), without samples")]
)
def test_sinks_may_have_no_default(shape: str, layout: str, tmp_path: Path) -> None:
    text = SINKS.replace("SHAPE", shape)
    if layout != "(B, H, L, D)":
        text = text.replace("    length =", "    if q.ndim != 3:\n        raise ValueError(q.shape)\n    length =")
    report = check(written(tmp_path, text), tier="quick")
    assert report.verdict == "conforms"
    assert layout in report.notices[0]
    held = {result.law.id for result in report.results if result.status == "passed"}
    assert "attention.sinks.value" in held


def test_a_sink_that_is_scaled_is_named(tmp_path: Path) -> None:
    text = SINKS.replace("sinks.view(-1, 1, 1)", "(sinks * q.shape[-1] ** -0.5).view(-1, 1, 1)")
    report = check(written(tmp_path, text), tier="quick", laws=("attention.sinks.*",))
    assert report.diagnoses[0].suspects[0].mistakes == ("sink_scaled",)


def test_a_causal_attention_may_look_from_the_end(tmp_path: Path) -> None:
    report = check(written(tmp_path, FROM_THE_END), tier="quick")
    assert report.verdict == "conforms"
    assert "as many keys as queries" not in report.notices[0]
    held = {result.law.id for result in report.results if result.status == "passed"}
    assert "attention.causal.unequal_lengths" in held


def test_one_that_looks_from_the_front_though_it_says_otherwise_is_named(tmp_path: Path) -> None:
    text = FROM_THE_END.replace(" + (k.shape[2] - q.shape[2])", "")
    report = check(written(tmp_path, text), tier="quick")
    assert report.diagnoses[0].suspects[0].mistakes == ("causal_top_left_vs_bottom_right",)
