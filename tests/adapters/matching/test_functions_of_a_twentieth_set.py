"""Functions that were accused, not judged or passed in a twentieth set of strangers' files."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from veriformer.adapters.implementation import Implementation
from veriformer.conformance_tests import check

Loaded = Callable[..., Implementation]
OF_POSITIONS = """
import numpy as np


def sinusoidal_positions(positions, dim, base=10000.0):
    angle = np.asarray(positions, dtype=np.float64)[..., None] / base ** (np.arange(0, dim, 2) / dim)
    out = np.empty(angle.shape[:-1] + (dim,))
    out[..., 0::2], out[..., 1::2] = np.sin(angle), np.cos(angle)
    return out
"""


def test_a_table_of_positions_that_are_given(loaded: Loaded) -> None:
    right = loaded(OF_POSITIONS)
    assert right.operations["sinusoidal_positions"].form.words == ("`positions`: 0 … L − 1",)
    assert check(right, tier="quick").exit_status == 0
    wrong = loaded(OF_POSITIONS.replace("np.sin(angle), np.cos(angle)", "np.cos(angle), np.sin(angle)"))
    assert check(wrong, tier="quick", diagnosis=False).exit_status == 1


VARLEN = '''
import numpy as np


def attention_varlen(q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, causal=False):
    """q (total_q, H, D), k and v (total_k, H, D); sequences lie one behind the other."""
    out = np.zeros(q.shape[:2] + v.shape[-1:], q.dtype)
    for b in range(len(cu_seqlens_q) - 1):
        rows, keys = slice(*cu_seqlens_q[b : b + 2]), slice(*cu_seqlens_k[b : b + 2])
        s = np.einsum("qhd,khd->hqk", q[rows], k[keys]) / np.sqrt(q.shape[-1])
        if causal:
            s = np.where(np.tri(*s.shape[1:], s.shape[2] - s.shape[1], dtype=bool), s, -np.inf)
        largest = s.max(-1, keepdims=True)
        w = np.exp(s - np.where(np.isfinite(largest), largest, 0.0))
        total = w.sum(-1, keepdims=True)
        out[rows] = np.einsum("hqk,khd->qhd", w / np.where(total > 0.0, total, 1.0), v[keys])
    return out
'''


@pytest.mark.parametrize(
    ("right", "wrong"),
    (
        ("", ""),
        (" / np.sqrt(q.shape[-1])", ""),
        ("slice(*cu_seqlens_k[b : b + 2])", "slice(*cu_seqlens_q[b : b + 2])"),
        ("v[keys])", "v[: w.shape[-1]])"),
    ),
)
def test_samples_one_behind_the_other(loaded: Loaded, right: str, wrong: str) -> None:
    assert right in VARLEN
    found = loaded(VARLEN.replace(right, wrong) if right else VARLEN)
    form = found.operations["scaled_dot_product_attention"].form
    assert form.layout.words == "(B·L, H, D), samples one behind the other"
    assert check(found, tier="quick", diagnosis=False).exit_status == int(bool(right))


LINEAR = '''
import torch
from torch.nn import functional as F


class ChunkedCrossEntropy(torch.nn.Module):
    """Linear and cross entropy without the whole logits."""

    def __init__(self, chunk_size=1024, ignore_index=-100):
        super().__init__()
        self.chunk_size, self.ignore_index = chunk_size, ignore_index

    def forward(self, hidden, weight, labels):
        h, y = hidden.reshape(-1, hidden.shape[-1]), labels.reshape(-1)
        total, count = 0.0, 0
        for hc, yc in zip(h.split(self.chunk_size), y.split(self.chunk_size)):
            total = total + F.cross_entropy(hc @ weight.t(), yc, ignore_index=self.ignore_index, reduction="sum")
            count = count + (yc != self.ignore_index).sum()
        return total / count
'''
MEANS = """
        losses = [F.cross_entropy(hc @ weight.t(), yc, ignore_index=self.ignore_index)
                  for hc, yc in zip(h.split(self.chunk_size), y.split(self.chunk_size))]
        return torch.stack(losses).mean()
"""


def test_a_loss_of_hidden_states_in_parts_as_a_class(loaded: Loaded) -> None:
    right = loaded(LINEAR)
    assert "logits are `hidden` times `weight`" in " ".join(right.operations["cross_entropy"].form.words)
    assert check(right, tier="quick").exit_status == 0
    wrong = loaded(LINEAR.partition("        total, count")[0] + MEANS)
    assert check(wrong, tier="quick", diagnosis=False).exit_status == 1


IN_PARTS = """
import torch
from torch.nn import functional as F


def linear_cross_entropy(hidden, weight, targets, chunk_size=4096):
    h, y = hidden.reshape(-1, hidden.shape[-1]), targets.reshape(-1)
    parts = zip(h.split(chunk_size), y.split(chunk_size))
    return RESULT
"""


@pytest.mark.parametrize(
    ("result", "status"),
    (
        ("sum(F.cross_entropy(a @ weight.t(), b, reduction='sum') for a, b in parts) / len(y)", 0),
        ("torch.stack([F.cross_entropy(a @ weight.t(), b) for a, b in parts]).mean()", 1),
    ),
)
def test_a_loss_of_hidden_states_in_parts(loaded: Loaded, result: str, status: int) -> None:
    report = check(loaded(IN_PARTS.replace("RESULT", result)), tier="quick", diagnosis=False)
    assert report.exit_status == status
