"""Losses with weights or lengths, attention with lengths or a window, ALiBi, and classes of losses and rotations."""

from __future__ import annotations

from pathlib import Path

import pytest
from veriformer.adapters.errors import NoOperations
from veriformer.adapters.loading import load
from veriformer.conformance_tests import check

WEIGHTED = """
import jax
import jax.numpy as jnp


def token_loss(logits, labels, weights=None):
    each = -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[..., None], -1)[..., 0]
    if weights is None:
        return each.mean()
    return (each * weights).sum() / weights.sum()
"""
OF_LENGTHS = """
import numpy as np


def sequence_loss(logits, targets, lengths):
    peak = logits.max(-1, keepdims=True)
    normal = logits - peak - np.log(np.exp(logits - peak).sum(-1, keepdims=True))
    each = -np.take_along_axis(normal, targets[..., None], -1)[..., 0]
    keep = np.arange(logits.shape[1])[None] < lengths[:, None]
    return (each * keep).sum() / keep.sum()
"""
OF_CLASS_0 = """
import torch
import torch.nn.functional as F


def masked_loss(pred, target):
    keep = target != 0
    each = F.cross_entropy(pred.flatten(0, 1), target.flatten(), reduction="none").view_as(target)
    return (each * keep).sum() / keep.sum()
"""
SMOOTHED = """
import jax
import jax.numpy as jnp


def smoothed_cross_entropy(logits, labels, alpha=0.1):
    classes = logits.shape[-1]
    soft = jax.nn.one_hot(labels, classes) * (1 - alpha) + alpha / classes
    return -(soft * jax.nn.log_softmax(logits)).sum(-1).mean()
"""
LOG_SOFTMAX = """
import numpy as np


def log_softmax(x, axis=-1):
    shifted = x - x.max(axis=axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))
"""
NEGATIVE_LOGARITHMS = """
import torch


def nll_loss(log_probs, target):
    return -log_probs.gather(-1, target[..., None]).mean()
"""
LOSS_CLASS = """
import torch
from torch import nn


class LabelSmoothingLoss(nn.Module):
    def __init__(self, num_classes, smoothing=0.1):
        super().__init__()
        self.num_classes, self.smoothing = num_classes, smoothing

    def forward(self, logits, target):
        normal = logits.reshape(-1, self.num_classes).log_softmax(-1)
        soft = torch.full_like(normal, self.smoothing / self.num_classes)
        soft.scatter_(1, target.reshape(-1, 1), 1 - self.smoothing + self.smoothing / self.num_classes)
        return -(soft * normal).sum(-1).mean()
"""
ROTATION_CLASS = """
import torch
from torch import nn


class RotaryEmbedding(nn.Module):
    def __init__(self, dim, max_seq_len=64, base=10000.0):
        super().__init__()
        rates = base ** (-torch.arange(0, dim, 2).float() / dim)
        angles = torch.outer(torch.arange(max_seq_len).float(), rates)[:, None]
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def forward(self, x):
        \"\"\"x: (batch, length, heads, dim)\"\"\"
        cos, sin = self.cos[: x.shape[1]], self.sin[: x.shape[1]]
        first, second = x[..., ::2], x[..., 1::2]
        return torch.stack((first * cos - second * sin, first * sin + second * cos), -1).flatten(-2)
"""
VALID_LENGTHS = """
import numpy as np


def dot_product_attention(queries, keys, values, valid_lens=None):
    scores = queries @ keys.transpose(0, 2, 1) / np.sqrt(queries.shape[-1])
    if valid_lens is not None:
        hidden = np.arange(scores.shape[-1])[None, None] >= valid_lens[:, None, None]
        scores = np.where(hidden, -1e6, scores)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ values
"""
WINDOW = """
import numpy as np


def swa(q, k, v, window_size):
    place = np.arange(q.shape[-2])
    distance = place[:, None] - place[None]
    visible = (distance >= 0) & (distance < window_size)
    scores = np.where(visible, q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]), -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v
"""
SQUARE_MASK = """
import torch


def causal_attention(q, k, v):
    length = q.size(-2)
    mask = torch.full((length, length), float("-inf")).triu(1)
    return torch.softmax(q @ k.mT / q.size(-1) ** 0.5 + mask, dim=-1) @ v
"""
ALIBI = """
import numpy as np


def attention_with_alibi(q, k, v):
    \"\"\"q, k, v: (heads, length, width); the number of heads is a power of two.\"\"\"
    heads, length, width = q.shape
    slopes = 2.0 ** (-8.0 * np.arange(1, heads + 1) / heads)
    distance = np.arange(length)[:, None] - np.arange(length)[None]
    scores = q @ k.swapaxes(1, 2) / np.sqrt(width) - slopes[:, None, None] * distance
    scores = np.where(distance < 0, -np.inf, scores)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v
"""
SLOPES = """
import math


def get_slopes(n):
    if math.log2(n).is_integer():
        return [2 ** (-8 * (head + 1) / n) for head in range(n)]
    near = 2 ** math.floor(math.log2(n))
    return get_slopes(near) + get_slopes(2 * near)[0::2][: n - near]
"""
KINDS = {
    "weights": (WEIGHTED, "cross_entropy", "`weights`: 1 counts", ("/ weights.sum()", "/ weights.size")),
    "lengths": (OF_LENGTHS, "cross_entropy", "`lengths`: the number of tokens", ("] < lengths", "] <= lengths")),
    "class 0": (OF_CLASS_0, "cross_entropy", "class 0 is ignored", (".sum() / keep.sum()", ".mean()")),
    "smoothing": (SMOOTHED, "cross_entropy", "(B, L, N)", (" * (1 - alpha)", "")),
    "log-softmax": (LOG_SOFTMAX, "cross_entropy", "picked at the targets", ("np.exp(shifted)", "np.exp(x)")),
    "log-probabilities": (NEGATIVE_LOGARITHMS, "cross_entropy", "the log-softmax", (".mean()", ".sum()")),
    "loss class": (
        LOSS_CLASS,
        "cross_entropy",
        "(B, L, N)",
        ("1 - self.smoothing + self.smoothing / self.num_classes", "1 - self.smoothing"),
    ),
    "rotation class": (
        ROTATION_CLASS,
        "rotary_embedding",
        "(B, L, H, D)",
        ("first * sin + second", "second * sin + first"),
    ),
    "valid lengths": (
        VALID_LENGTHS,
        "scaled_dot_product_attention",
        "`valid_lens`: (B,)",
        ("-1e6, scores", "0.0, scores"),
    ),
    "window": (WINDOW, "scaled_dot_product_attention", "`window_size`: the keys to the left", (" / np.sqrt(", " / (")),
    "square mask": (SQUARE_MASK, "scaled_dot_product_attention", "always causal", ("triu(1)", "triu(0)")),
    "alibi": (ALIBI, "alibi_bias", "the bias that it adds", (" - slopes", " + slopes")),
    "slopes": (SLOPES, "alibi_bias", "its slopes", ("-8 * (head + 1)", "-8 * head")),
}


@pytest.mark.parametrize("kind", KINDS)
def test_kinds(tmp_path: Path, kind: str) -> None:
    text, operation, words, changed = KINDS[kind]
    for framework in ("torch", "jax"):
        if f"import {framework}\n" in text:
            pytest.importorskip(framework)
    path, wrong = tmp_path / "mine.py", tmp_path / "wrong.py"
    path.write_text(text)
    right = check(str(path), tier="quick")
    assert list(right.taken_as.values()) == [operation]
    assert any(words in notice for notice in right.notices), right.notices
    assert right.verdict == "conforms"
    assert changed[0] in text
    wrong.write_text(text.replace(*changed))
    assert check(str(wrong), tier="quick").verdict == "violates"


def words_of(tmp_path: Path, text: str) -> str:
    path = tmp_path / "mine.py"
    path.write_text(text)
    return load(str(path)).notices[0]


def test_a_loss_that_ignores_nothing_is_not_asked_to(tmp_path: Path) -> None:
    pytest.importorskip("jax")
    assert "ignored" not in words_of(tmp_path, SMOOTHED)


def test_weights_of_either_polarity(tmp_path: Path) -> None:
    pytest.importorskip("jax")
    masked = "jnp.where(mask, 0, each).sum() / (~mask).sum()"
    text = WEIGHTED.replace("(each * weights).sum() / weights.sum()", masked)
    text = text.replace("weights=None", "mask=None").replace("if weights", "if mask")
    assert "`mask`: True is ignored" in words_of(tmp_path, text)


def test_log_probabilities_that_nothing_says(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    with pytest.raises(NoOperations):
        words_of(tmp_path, NEGATIVE_LOGARITHMS.replace("log_probs", "values"))


def test_lengths_that_must_be_given(tmp_path: Path) -> None:
    text = VALID_LENGTHS.replace("valid_lens=None", "valid_lens").replace("if valid_lens is not None", "if True")
    assert "`valid_lens`: (B,), the visible keys" in words_of(tmp_path, text)


def test_lengths_of_each_query(tmp_path: Path) -> None:
    text = VALID_LENGTHS.replace("valid_lens[:, None, None]", "valid_lens[:, :, None]")
    assert "`valid_lens`: (B, L), the visible keys" in words_of(tmp_path, text)


def test_a_window_on_both_sides_that_is_said_to_be_causal(tmp_path: Path) -> None:
    two_sided = WINDOW.replace("(distance >= 0) & (distance < window_size)", "abs(distance) < window_size")
    assert "always causal" not in words_of(tmp_path, two_sided)
    (tmp_path / "said").mkdir()
    said = two_sided.replace("    place =", '    "Causal attention to the last keys."\n    place =')
    assert "always causal" in words_of(tmp_path / "said", said)


def test_blocks_are_no_window(tmp_path: Path) -> None:
    blocks = WINDOW.replace("(distance < window_size)", "(place[:, None] // window_size == place[None] // window_size)")
    assert "it fits no known window" in words_of(tmp_path, blocks)


def test_an_attention_that_adds_alibi_need_not_have_other_numbers_of_heads(tmp_path: Path) -> None:
    said = "; the number of heads is a power of two"
    assert said in ALIBI
    assert "powers of two of heads" in words_of(tmp_path, ALIBI.replace(said, ""))


NEEDS_MORE = """
import numpy as np


def attention(q, k, v, table):
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]) + table.sum()
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v
"""


@pytest.mark.parametrize("name", ["attention", "mixed"])
def test_what_nothing_explains_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(NoOperations, match=r"needs `table`"):
        words_of(tmp_path, NEEDS_MORE.replace("def attention", f"def {name}"))


def test_rows_of_one_position(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    path = tmp_path / "mine.py"
    path.write_text(ROTATION_CLASS)
    rotate = load(str(path)).operations["rotary_embedding"]
    x = torch.arange(24.0).reshape(1, 2, 3, 4)
    together = rotate(x, torch.tensor([2, 0, 2]))
    alone = [rotate(x[:, :, row : row + 1], torch.tensor([position])) for row, position in enumerate((2, 0, 2))]
    assert torch.equal(together, torch.cat(alone, dim=2))


def test_a_loss_with_smoothing_whose_padding_must_be_a_class(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "import torch\nfrom torch import nn\n\n\nclass LabelSmoothingLoss(nn.Module):\n"
        "    def __init__(self, eps=0.1, pad_idx=0):\n        super().__init__()\n"
        "        self.eps, self.pad_idx = eps, pad_idx\n\n"
        "    def forward(self, logits, target):\n        logp = logits.log_softmax(-1)\n"
        "        loss = -(1 - self.eps) * logp.gather(-1, target[..., None])[..., 0] - self.eps * logp.mean(-1)\n"
        "        kept = target != self.pad_idx\n        return (loss * kept).sum() / kept.sum()\n"
    )
    report = check(str(file), tier="quick")
    assert report.exit_status == 0 and report.counts["passed"] > 10
