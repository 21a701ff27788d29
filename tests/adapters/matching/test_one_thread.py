"""A torch function is called with one thread while it is found out what it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from veriformer.adapters.loading import load

torch = pytest.importorskip("torch")
FILE = """
import torch

_threads = set()

def attention(q, k, v):
    _threads.add(torch.get_num_threads())
    (__import__("pathlib").Path(__file__).parent / "threads").write_text(" ".join(map(str, _threads)))
    return torch.softmax(q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5, dim=-1) @ v
"""


def test_a_function_is_matched_with_one_thread(tmp_path: Path) -> None:
    file, before = tmp_path / "mine.py", torch.get_num_threads()
    file.write_text(FILE, encoding="utf-8")
    torch.set_num_threads(2)
    try:
        assert "scaled_dot_product_attention" in load(str(file)).operations
    finally:
        torch.set_num_threads(before)
    assert (tmp_path / "threads").read_text(encoding="utf-8") == "1"
