"""A cache that a file's own class holds is built and fed; what it makes of later tokens has to be right."""

from __future__ import annotations

from pathlib import Path

import pytest
from veriformer import check

pytest.importorskip("torch")

MODEL = """
from __future__ import annotations
import torch
from torch import nn


class Memory:
    def __init__(self):
        self.k = self.v = None

    def append(self, k, v):
        self.k, self.v = (k, v) if self.k is None else (torch.cat([self.k, k], 2), torch.cat([self.v, v], 2))
        return self.k, self.v


class CachedAttention(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x, cache: Memory | None = None):
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        past = 0
        if cache is not None:
            past = 0 if cache.k is None else cache.k.shape[2]
            k, v = cache.append(k, v)
        hidden = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool).triu(1 + past)
        scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(hidden, float("-inf"))
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))
"""


@pytest.mark.parametrize(
    ("wrong", "status"),
    [(("", ""), "passed"), (("triu(1 + past)", "triu(1)"), "failed"), (("[self.v, v]", "[v, self.v]"), "failed")],
    ids=["right", "mask without the past", "values in front"],
)
def test_a_cache_of_a_class_of_the_file_is_tried(tmp_path: Path, wrong: tuple[str, str], status: str) -> None:
    file = tmp_path / "cached.py"
    file.write_text(MODEL.replace(*wrong) if wrong[0] else MODEL)
    report = check(f"{file}:CachedAttention")
    statuses = {one.law.id: one.status for one in report.results}
    assert statuses["model.cache.tokens"] == status
    assert report.exit_status == (status == "failed")
