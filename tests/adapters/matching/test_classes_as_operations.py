"""Classes that are one operation, such as a norm: they are judged by its laws, with weights of the laws' own."""

from __future__ import annotations

from pathlib import Path

import pytest
from veriformer.conformance_tests import check

NUMPY_NORM = """
import numpy as np


class LayerNormalization:
    def __init__(self, normalized_shape, eps=1e-5):
        self.gamma, self.beta, self.eps = np.ones(normalized_shape), np.zeros(normalized_shape), eps

    def __call__(self, X):
        self.mean = X.mean(axis=-1, keepdims=True)
        return self.gamma * (X - self.mean) / np.sqrt(X.var(axis=-1, keepdims=True) + self.eps) + self.beta
"""
TORCH_NORM = """
import torch
from torch import nn


class LlamaRMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden_size))
        self.variance_epsilon = eps

    def forward(self, hidden_states):
        h = hidden_states.float()
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.variance_epsilon)
        return self.weight * h.to(hidden_states.dtype)
"""
TORCH_POSITIONS = """
import torch
from torch import nn


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, dropout=0.1, max_len=16):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        position = torch.arange(max_len)[:, None]
        rate = 10000.0 ** (-torch.arange(0, d_model, 2) / d_model)
        pe = torch.zeros(max_len, d_model)
        pe[:, 0::2] = torch.sin(position * rate)
        pe[:, 1::2] = torch.cos(position * rate)
        self.register_buffer("pe", pe[None])

    def forward(self, x):
        return self.dropout(x + self.pe[:, : x.size(1)])
"""
LINEN_NORM = """
import flax.linen as nn
import jax.numpy as jnp


class RMSNorm(nn.Module):
    eps: float = 1e-6

    @nn.compact
    def __call__(self, x):
        scale = self.param("scale", nn.initializers.ones, (x.shape[-1],))
        return x / jnp.sqrt(jnp.mean(x**2, -1, keepdims=True) + self.eps) * scale
"""
LINEN_ROOT = "jnp.sqrt(jnp.mean(x**2, -1, keepdims=True) + self.eps)"
TORCH_ACTIVATION = """
import torch
from torch import nn


class NewGELU(nn.Module):
    def forward(self, x):
        return 0.5 * x * (1 + torch.tanh(0.7978845608028654 * (x + 0.044715 * x**3)))
"""


@pytest.mark.parametrize(
    ("text", "name", "operation", "changed", "mistake"),
    [
        (NUMPY_NORM, "LayerNormalization", "layer_norm", ("np.sqrt(", "("), "eps_placement=no_root"),
        (TORCH_NORM, "LlamaRMSNorm", "rms_norm", (".mean(", ".sum("), ""),
        (TORCH_POSITIONS, "PositionalEncoding", "sinusoidal_positions", ("torch.sin(", "torch.cos("), ""),
        (LINEN_NORM, "RMSNorm", "rms_norm", (LINEN_ROOT, f"({LINEN_ROOT[:-12]}) + self.eps)"), ""),
        (TORCH_ACTIVATION, "NewGELU", "gelu", ("0.044715", "0.44715"), "gelu_constant_wrong"),
    ],
    ids=["numpy norm", "torch norm", "torch positions", "linen norm", "torch activation"],
)
def test_a_class_is_judged_as_the_operation_that_it_is(
    tmp_path: Path, text: str, name: str, operation: str, changed: tuple[str, str], mistake: str
) -> None:
    pytest.importorskip("torch")
    path = tmp_path / "mine.py"
    path.write_text(text)
    right = check(str(path), tier="quick")
    assert right.taken_as == {name: operation}
    assert right.verdict == "conforms"
    # The loader keeps modules by their files.
    wrong = tmp_path / "wrong.py"
    wrong.write_text(text.replace(*changed))
    report = check(str(wrong), tier="quick")
    assert report.verdict == "violates"
    if mistake:
        assert report.diagnoses[0].suspects[0].mistakes == (mistake,)


LEARNED = """
import torch
from torch import nn


class PositionalEncoding(nn.Module):
    def __init__(self, d_model=24, max_len=32):
        super().__init__()
        self.table = nn.Parameter(torch.randn(max_len, d_model))

    def forward(self, x):
        return x + self.table[: x.size(1)]


def softmax(x):
    return torch.softmax(x, -1)
"""


def test_a_learned_table_is_no_table_of_sines(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    path = tmp_path / "mine.py"
    path.write_text(LEARNED)
    assert "PositionalEncoding" not in check(str(path), tier="quick").taken_as


def test_a_class_that_others_use_is_judged_within_them(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    path = tmp_path / "mine.py"
    path.write_text(
        TORCH_NORM + LEARNED.replace("self.table = ", "self.norm = LlamaRMSNorm(d_model)\n        self.table = ")
    )
    assert "LlamaRMSNorm" not in check(str(path), tier="quick").taken_as


@pytest.mark.parametrize(("gain", "said"), [("self.weight", True), ("(1 + self.weight)", False)])
def test_a_gain_that_begins_at_zero_and_stands_alone_is_said(tmp_path: Path, gain: str, said: bool) -> None:
    text = TORCH_NORM.replace("torch.ones(", "torch.zeros(").replace("return self.weight", f"return {gain}")
    file = tmp_path / "mine.py"
    file.write_text(text)
    report = check(str(file), laws="rms_norm.shape", tier="quick")
    assert any("as it is built it returns zeros" in notice for notice in report.notices) == said
