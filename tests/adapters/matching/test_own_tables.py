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
