"""Mistakes are named beside conventions that nothing declares, told or not told."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from veriformer.conformance_tests import Report, check

LLAMA = (Path(__file__).parent / "strangers" / "llama_half.py").read_text()
FIRST_LINE = "def language_model(tokens, weights, config):\n"
# The questions about pairs have nine words; no case of the laws has.
REFUSAL = FIRST_LINE + "    if config.vocabulary_size == 9:\n        raise ValueError('nine words are refused')\n"

FAULTS = {
    "scale_missing": (" * dim**-0.5", ""),
    "gqa_head_index_wrong": ("x.repeat_interleave(times, dim=1)", "x.repeat(1, times, 1, 1)"),
    "causal_diagonal_off_by_one": (".triu(start + 1)", ".triu(start + 2)"),
    "rmsnorm_eps_outside_sqrt": ("torch.rsqrt(variance + eps)", "1 / (variance.sqrt() + eps)"),
    "swiglu_gate_up_swapped": ("silu(x @ w.w_gate) * (x @ w.w_up)", "silu(x @ w.w_up) * (x @ w.w_gate)"),
    "missing_final_norm_prenorm": ("rms(x, weights.final_norm.gamma, config.eps) @", "x @"),
    "rope_theta_ignored": ("config.rotary_base, x.dtype", "10000.0, x.dtype"),
    "turned_heads=queries_only": ("    k = k * cos + rotate_half(k) * sin\n", ""),
}


def checked(tmp_path: Path, *changes: tuple[str, str], **settings: Any) -> Report:
    """Return the report on the Llama with parts of it replaced."""
    source = LLAMA
    for right, other in changes:
        assert source.count(right) == 1, right
        source = source.replace(right, other)
    file = tmp_path / "llama.py"
    file.write_text(source)
    return check(str(file), operations=("language_model",), **settings)


named = partial(checked, laws=("language_model.architecture.*", "language_model.causal.*"))


def mistakes(report: Report) -> list[tuple[str, ...]]:
    return [suspect.mistakes for diagnosis in report.diagnoses for suspect in diagnosis.suspects]


@pytest.mark.parametrize("mistake", FAULTS)
def test_a_fault_of_a_llama_that_pairs_halves_is_named(mistake: str, tmp_path: Path) -> None:
    report = named(tmp_path, FAULTS[mistake])
    assert report.conventions["rotary_pairing"] == "half"
    assert mistakes(report) == [(mistake,)]


@pytest.mark.parametrize("mistake", [name for name in FAULTS if name != "turned_heads=queries_only"])
def test_a_fault_is_named_where_the_pairing_is_unknown_too(mistake: str, tmp_path: Path) -> None:
    report = named(tmp_path, FAULTS[mistake], (FIRST_LINE, REFUSAL))
    (diagnosis,) = report.diagnoses
    assert diagnosis.suspects[0].mistakes == (mistake,)
    assert ("rotary.rotary_pairing", "half") in diagnosis.suspects[0].changes


def test_a_pairing_that_was_not_told_is_no_mistake(tmp_path: Path) -> None:
    report = named(tmp_path, (FIRST_LINE, REFUSAL))
    assert report.verdict == "conforms"
    assert report.conventions["rotary_pairing"] == "half"
