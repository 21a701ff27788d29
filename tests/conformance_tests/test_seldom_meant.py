"""Who computes quick GELU and declares nothing hears of it once; who declares it, or another form, does not."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from veriformer.conformance_tests import check
from veriformer.conformance_tests.reports.console import report_text
from veriformer.conformance_tests.reports.json_report import report_as_json

Array = np.ndarray
FORMS = {
    "erf": lambda x: x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))) / 2,
    "tanh": lambda x: x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2,
    "sigmoid": lambda x: x / (1 + np.exp(-1.702 * x)),
}
SENTENCE = (
    "gelu, gated_feed_forward: gelu_form is sigmoid (x σ(1.702 x)), up to 0.02 away from x Φ(x); "
    "declare it if it is meant, or else correct it"
)


def computing(form: str, **declared: Any) -> SimpleNamespace:
    """Return a gelu, and a gated network with it."""

    def gelu(x: Array) -> Array:
        return np.asarray(FORMS[form](x.astype(np.float64))).astype(x.dtype)

    def gated(x: Array, weights: Any, *, activation: str) -> Array:
        act = {"relu": lambda z: np.maximum(z, 0), "gelu": gelu, "silu": lambda z: z / (1 + np.exp(-z))}[activation]
        output: Array = (act(x @ weights.w_gate) * (x @ weights.w_up)) @ weights.w_down
        return output

    return SimpleNamespace(gelu=gelu, gated_feed_forward=gated, **declared)


def test_quick_gelu_that_nobody_declared_is_said_once() -> None:
    report = check(computing("sigmoid"), tier="quick")
    assert report.verdict == "conforms"
    assert [notice for notice in report.notices if "gelu_form" in notice] == [SENTENCE]
    assert SENTENCE in report_as_json(report)["notices"]
    assert SENTENCE in " ".join(report_text(report).split())


@pytest.mark.parametrize("form", ("erf", "tanh"))
def test_the_other_forms_need_no_notice(form: str) -> None:
    report = check(computing(form), laws=("gelu.*",), tier="quick")
    assert report.conventions["gelu_form"] == form
    assert not report.notices


def test_quick_gelu_that_is_declared_needs_no_notice() -> None:
    report = check(computing("sigmoid", conventions={"gelu_form": "sigmoid"}), laws=("gelu.*",), tier="quick")
    assert report.conventions["gelu_form"] == "sigmoid"
    assert not report.notices


def test_the_distance_that_the_notice_states_is_measured() -> None:
    x = np.linspace(-10, 10, 200_001)
    assert math.isclose(np.max(np.abs(FORMS["sigmoid"](x) - FORMS["erf"](x))), 0.02, abs_tol=0.001)
