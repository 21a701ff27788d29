"""An attention that is handed its rotations, its place and a mask to add, as Llama's is, is run and judged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from veriformer import check

pytest.importorskip("torch")

MODEL = """
import torch
from torch import nn


def turned(x, freqs_cis):
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * freqs_cis[None, :, None]).flatten(3).type_as(x)


class Attention(nn.Module):
    def __init__(self, dim, n_heads, n_kv_heads, max_batch_size=4, max_seq_len=64):
        super().__init__()
        self.heads, self.groups, self.width = n_heads, n_kv_heads, dim // n_heads
        self.wq, self.wo = nn.Linear(dim, dim, bias=False), nn.Linear(dim, dim, bias=False)
        self.wk, self.wv = (nn.Linear(dim, n_kv_heads * self.width, bias=False) for _ in range(2))
        shape = (max_batch_size, max_seq_len, n_kv_heads, self.width)
        self.cache_k, self.cache_v = torch.zeros(shape), torch.zeros(shape)

    def forward(self, x, start_pos: int, freqs_cis, mask):
        b, n, _ = x.shape
        q, k, v = (w(x).view(b, n, -1, self.width) for w in (self.wq, self.wk, self.wv))
        q, k = turned(q, freqs_cis), turned(k, freqs_cis)
        self.cache_k[:b, start_pos : start_pos + n] = k
        self.cache_v[:b, start_pos : start_pos + n] = v
        keys, values = (c[:b, : start_pos + n] for c in (self.cache_k, self.cache_v))
        keys, values = (c.repeat_interleave(self.heads // self.groups, 2) for c in (keys, values))
        scores = q.transpose(1, 2) @ keys.permute(0, 2, 3, 1) / self.width**0.5
        scores = scores if mask is None else scores + mask
        return self.wo((scores.softmax(-1) @ values.transpose(1, 2)).transpose(1, 2).reshape(b, n, -1))
"""


def report_on(folder: Path, text: str) -> Any:
    file = folder / "llama.py"
    file.write_text(text)
    return check(f"{file}:Attention")


def test_a_right_one_is_run_on_rotations_and_holds(tmp_path: Path) -> None:
    report = report_on(tmp_path, MODEL)
    assert report.exit_status == 0, report.headline
    statuses = {one.law.id: one.status for one in report.results}
    assert statuses["model.padding.content"] == statuses["model.gradients.value"] == "passed"
    # Complex numbers that lost their imaginary part would say so.
    assert not any("printed" in one or "no effect" in one for one in report.notices)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ((".repeat_interleave(self.heads // self.groups, 2)", ".repeat(1, 1, 2, 1)"), "gqa_head_index_wrong"),
        (("turned(k, freqs_cis)", "turned(k, freqs_cis.conj())"), "rope_sign_flipped"),
    ],
    ids=["tiled heads", "turned backwards"],
)
def test_a_wrong_one_is_named(tmp_path: Path, wrong: tuple[str, str], named: str) -> None:
    report = report_on(tmp_path, MODEL.replace(*wrong))
    assert named in [one.name for departure in report.departures for one in departure.suspects]


def test_a_mask_that_code_does_not_read_is_said_to_have_no_effect(tmp_path: Path) -> None:
    report = report_on(tmp_path, MODEL.replace("        scores = scores if mask is None else scores + mask\n", ""))
    assert any(one.startswith("`mask` has no effect") for one in report.notices)
