"""The mistake that is named is wrong by itself; a choice that shows beside it only is told as such."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from veriformer.adapters.loading import load
from veriformer.conformance_tests import Report, check
from veriformer.conformance_tests.conventions.inference import examine
from veriformer.conformance_tests.diagnosis.by_itself import ByItself
from veriformer.conformance_tests.drawing.limits import Limits
from veriformer.conformance_tests.operations.suites import family_of
from veriformer.conformance_tests.reports.console import report_text
from veriformer.conformance_tests.reports.exports.implementations import implementation_outcome
from veriformer.spec.operations import OPERATIONS

NAME = "scaled_dot_product_attention"
ATTENTION = """
import numpy as np


def scaled_dot_product_attention(query, key, value, *, mask=None, is_causal=False):
    logits = query @ key.swapaxes(-1, -2) * np.float32(query.shape[-1] ** -0.5)
    if is_causal:
        logits = np.where(np.tri(*logits.shape[-2:], CAUSAL, dtype=bool), logits, FILL)
    if mask is not None:
        logits = np.where(mask, logits, FILL)
    exponentials = np.exp(logits - logits.max(axis=AXIS, keepdims=True))
    return (exponentials / exponentials.sum(axis=AXIS, keepdims=True) @ value).astype(query.dtype)
"""
LAWS = ("attention.mask.*", "attention.causal.*", "attention.scale", "attention.keys.permutation")
FILLS = ("np.float32(-1e9)", "np.finfo(np.float32).min", "np.float32(-3e7)")


def checked(folder: Path, axis: str = "-1", causal: str = "0", fill: str = FILLS[0]) -> Report:
    file = folder / "my_attention.py"
    file.write_text(ATTENTION.replace("AXIS", axis).replace("CAUSAL", causal).replace("FILL", fill))
    with np.errstate(all="ignore"):
        return check(str(file), laws=LAWS, dtypes=("float32",), tier="quick")


def first(report: Report) -> tuple[str, ...]:
    return report.diagnoses[0].suspects[0].mistakes


@pytest.mark.parametrize("fill", FILLS)
@pytest.mark.parametrize("axis", ["-2", "1"])
def test_a_finite_fill_is_not_named_beside_the_wrong_axis(axis: str, fill: str, tmp_path: Path) -> None:
    report = checked(tmp_path, axis, fill=fill)
    assert first(report) == ("softmax_wrong_axis",)
    text = " ".join(report_text(report).split())
    assert "besides hidden keys get a finite number" in text
    assert "which the mistake hides" not in text
    assert {problem.rule for problem in implementation_outcome(report).problems} == {"softmax_wrong_axis"}


def test_a_finite_fill_by_itself_breaks_no_law(tmp_path: Path) -> None:
    assert checked(tmp_path).verdict == "conforms"


def test_a_finite_fill_is_not_named_beside_two_mistakes(tmp_path: Path) -> None:
    file_report = checked(tmp_path, "-2", causal="1")
    assert first(file_report) == ("causal_diagonal_off_by_one", "softmax_wrong_axis")


def test_of_two_mistakes_only_those_are_kept_that_break_a_law_alone(tmp_path: Path) -> None:
    report = checked(tmp_path, "-2")
    implementation = load(str(tmp_path / "my_attention.py"))
    profile, family = examine(implementation, OPERATIONS[NAME]), family_of(NAME)
    assert family is not None
    limits = Limits(NAME, ("float32",), profile.subject.features)
    by_itself = ByItself(profile, report.results, limits, family.under(profile.subject.conventions))
    axis, scale = ("softmax", "over_queries"), ("scale", "missing_unless_given")
    filled = ("causal_use", "finite_mask_beaten_by_logits")
    names = ("finite_mask_beaten_by_logits", "softmax_wrong_axis")
    assert by_itself.mistakes((filled, axis), names) == ("softmax_wrong_axis",)
    assert by_itself.mistakes((scale, axis), ("scale_missing", "softmax_wrong_axis")) == (
        "scale_missing",
        "softmax_wrong_axis",
    )
