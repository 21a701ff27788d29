"""Gradients of norms: a forgotten projection is caught and named, whichever way the backward pass is written."""

from __future__ import annotations

from pathlib import Path

import pytest
from veriformer.conformance_tests import check
from veriformer.conformance_tests.mistakes import PlantedMistake, planted

FORGOTTEN = "norm_backward_projections_forgotten"
MISTAKEN = [mistake for mistake in planted() if mistake.slug == FORGOTTEN]
OUTSIDE = """
import numpy as np

conventions = {"layer_norm_eps": "outside_root"}


def layer_norm_backward(x, gamma, beta, grad_output, *, eps):
    centred = x - x.mean(axis=-1, keepdims=True)
    deviation = np.sqrt(np.mean(centred**2, axis=-1, keepdims=True))
    divisor = deviation + x.dtype.type(eps)
    normalised, scaled = centred / divisor, grad_output * gamma
    with np.errstate(invalid="ignore"):
        # NaN where all components are equal, as automatic differentiation has it: the root has no derivative at 0.
        along = centred / deviation * (scaled * normalised).mean(axis=-1, keepdims=True)
    grad_x = (scaled - scaled.mean(axis=-1, keepdims=True) - along) / divisor
    rows = tuple(range(x.ndim - 1))
    return grad_x, (grad_output * normalised).sum(axis=rows), grad_output.sum(axis=rows)
"""
ONE_PLUS = """
import numpy as np


def rms_norm_backward(x, gamma, grad_output, *, eps):
    root = np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + x.dtype.type(eps))
    unit, scaled = x / root, grad_output * (1 + gamma)
    grad_x = (scaled - unit * (scaled * unit).mean(axis=-1, keepdims=True)) / root
    return grad_x, (grad_output * unit).sum(axis=tuple(range(x.ndim - 1)))
"""


def test_the_mistake_is_planted_in_all_three_ways() -> None:
    ways = {(mistake.framework, mistake.operations[0]) for mistake in MISTAKEN}
    assert ways >= {(framework, "layer_norm_backward") for framework in ("numpy", "torch", "jax")}


@pytest.mark.parametrize("mistake", MISTAKEN, ids=lambda mistake: mistake.name)
def test_a_forgotten_projection_is_named(mistake: PlantedMistake, tmp_path: Path) -> None:
    pytest.importorskip(mistake.framework)
    file = tmp_path / "mine.py"
    file.write_text(mistake.source_text(), encoding="utf-8")
    report = check(str(file), laws=mistake.laws, tier="quick")
    assert {result.status for result in report.results} == {"failed"}
    (diagnosis,) = report.diagnoses
    assert diagnosis.suspects[0].mistakes == (FORGOTTEN,)


@pytest.mark.parametrize(
    ("source", "convention", "value"),
    [
        (OUTSIDE, "layer_norm_eps", "outside_root"),
        (ONE_PLUS, "rms_norm_gain", "one_plus_gamma"),
    ],
)
def test_backward_passes_of_other_conventions_are_right(
    source: str, convention: str, value: str, tmp_path: Path
) -> None:
    file = tmp_path / "mine.py"
    file.write_text(source, encoding="utf-8")
    report = check(str(file), tier="quick")
    assert {result.law.id for result in report.results if result.status in ("failed", "error")} == set()
    assert report.counts["passed"] > 15
    assert {found.convention: found.value for found in report.findings}[convention] == value
