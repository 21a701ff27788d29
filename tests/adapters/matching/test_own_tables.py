"""A rotation by tables is judged with the function of its file that makes them."""

from __future__ import annotations

from pathlib import Path

import pytest
from veriformer import check

FILE = '''
import numpy as np

def rope_table(head_dim, seq_len, theta=10000.0{more}):
    """Cosines and sines, (seq_len, head_dim / 2)."""
    rates = theta ** (-np.arange(0, head_dim, 2) / {divisor})
    angles = np.arange(seq_len)[:, None] * rates{then}
    return np.cos(angles), np.sin(angles)

def apply_rope(x, cos, sin):
    first, second = np.split(x, 2, axis=-1)
    return np.concatenate([first * cos - second * sin, second * cos + first * sin], -1).astype(x.dtype)
'''


def checked(folder: Path, *, divisor: str = "head_dim", more: str = "", then: str = "") -> tuple[str, str]:
    """Return the verdict and what is said."""
    (folder / "mine.py").write_text(FILE.format(divisor=divisor, more=more, then=then))
    report = check(str(folder / "mine.py"), tier="quick")
    return report.verdict, " ".join((*report.notices, *report.not_judged))


def test_both_are_judged_together(tmp_path: Path) -> None:
    verdict, said = checked(tmp_path)
    assert verdict == "conforms"
    assert "made by `rope_table`" in said and "not judged" not in said


@pytest.mark.parametrize(
    ("more", "then"), (("", ""), (", scaled=False, factor=8.0", " / (factor if scaled else 1.0)")), ids=("plain", "off")
)
def test_wrong_tables_break_laws(tmp_path: Path, more: str, then: str) -> None:
    verdict, said = checked(tmp_path, divisor="(head_dim // 2)", more=more, then=then)
    assert verdict == "violates" and "made by `rope_table`" in said


def test_tables_that_are_scaled_by_design_are_not_held_against_it(tmp_path: Path) -> None:
    verdict, said = checked(tmp_path, more=", factor=8.0", then=" / factor")
    assert verdict == "conforms" and "made by" not in said and "rope_table" in said


def test_tables_of_a_base_that_cannot_be_given_are_not_either(tmp_path: Path) -> None:
    source = FILE.format(divisor="head_dim", more="", then="").replace(", theta=10000.0", "")
    (tmp_path / "mine.py").write_text(source.replace("theta **", "500000.0 **"))
    report = check(str(tmp_path / "mine.py"), tier="quick")
    assert report.verdict == "conforms" and "rope_table" in report.not_judged


CLASS = """
import torch
from torch import nn

class RotaryEmbedding(nn.Module):
    def __init__(self, dim, max_position_embeddings=2048, base=10000.0):
        super().__init__()
        rates = 1.0 / base ** ({steps} / dim)
        angles = torch.outer(torch.arange(max_position_embeddings).float(), rates)
        {buffers}

    def forward(self, {call}):
        return {returned}

def rotate_half(x):
    first, second = x.chunk(2, -1)
    return torch.cat((-second, first), -1)

def apply_rotary_pos_emb(q, k, cos, sin, position_ids):
    cos, sin = cos[position_ids][:, None], sin[position_ids][:, None]
    return q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin
"""
BUFFERS = """angles = torch.cat((angles, angles), -1)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())"""
CALLS = (
    ("seq_len", "self.cos[:seq_len], self.sin[:seq_len]"),
    ("x, seq_len=None", "(self.cos[: x.shape[-2]].to(x.dtype), self.sin[: x.shape[-2]].to(x.dtype))"),
    ("x, position_ids", "self.cos[position_ids], self.sin[position_ids]"),
)


@pytest.mark.parametrize(("call", "returned"), CALLS, ids=("length", "vectors", "positions"))
@pytest.mark.parametrize(
    ("steps", "verdict"),
    (("torch.arange(0, dim, 2).float()", "conforms"), ("torch.arange(0, dim // 2).float()", "violates")),
    ids=("right", "wrong"),
)
def test_an_object_that_makes_tables_is_judged_with_the_rotation(
    tmp_path: Path, call: str, returned: str, steps: str, verdict: str
) -> None:
    pytest.importorskip("torch")
    (tmp_path / "mine.py").write_text(CLASS.format(steps=steps, buffers=BUFFERS, call=call, returned=returned))
    report = check(str(tmp_path / "mine.py"), tier="quick")
    assert report.verdict == verdict
    assert "made by `RotaryEmbedding`" in " ".join(report.notices)
