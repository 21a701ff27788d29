"""Conventions of activations and norms are found by probing, and contradicted declarations show."""

from __future__ import annotations

from collections.abc import Callable
from math import erf
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from veriformer.adapters.loading import load
from veriformer.conformance_tests import Report, check
from veriformer.conformance_tests.conventions.inference import examine
from veriformer.spec.operations import OPERATIONS

Array = np.ndarray


def found(target: object, operation: str) -> dict[str, tuple[str, str]]:
    """Return the value of each convention and how it is known."""
    findings = examine(load(target), OPERATIONS[operation]).findings
    return {finding.convention: (finding.value, finding.how) for finding in findings}


def judged(target: object, *laws: str) -> Report:
    return check(target, laws=laws, tier="quick")


def failures(report: Report) -> set[str]:
    return {result.law.id for result in report.results if result.status in ("failed", "error")}


def gelu_of(form: str) -> Callable[[Array], Array]:
    """Return GELU in one of its forms, in the dtype of its input."""
    inner = {
        "erf": lambda x: np.vectorize(erf)(x / np.sqrt(2.0)),
        "tanh": lambda x: np.tanh(np.sqrt(2.0 / np.pi) * (x + 0.044715 * x**3)),
        "sigmoid": lambda x: np.tanh(0.851 * x),
        "none": lambda x: np.tanh(x),
    }[form]
    return lambda x: (x * (1.0 + inner(x.astype(np.float64))) / 2.0).astype(x.dtype)


def feed_forward_with(gelu: Callable[[Array], Array]) -> Callable[..., Array]:
    def feed_forward(x: Array, weights: Any, *, activation: str) -> Array:
        act = {"relu": lambda z: np.maximum(z, 0), "gelu": gelu, "silu": lambda z: z / (1 + np.exp(-z))}[activation]
        hidden = x @ weights.w_1 if weights.b_1 is None else x @ weights.w_1 + weights.b_1
        output: Array = act(hidden) @ weights.w_2
        return output if weights.b_2 is None else output + weights.b_2

    return feed_forward


def gated_with(gelu: Callable[[Array], Array]) -> Callable[..., Array]:
    def gated(x: Array, weights: Any, *, activation: str) -> Array:
        act = {"relu": lambda z: np.maximum(z, 0), "gelu": gelu, "silu": lambda z: z / (1 + np.exp(-z))}[activation]
        output: Array = (act(x @ weights.w_gate) * (x @ weights.w_up)) @ weights.w_down
        return output

    return gated


def with_gelu(form: str, **declared: Any) -> SimpleNamespace:
    gelu = gelu_of(form)
    operations = {"gelu": gelu, "feed_forward": feed_forward_with(gelu), "gated_feed_forward": gated_with(gelu)}
    return SimpleNamespace(**operations, **declared)


@pytest.mark.parametrize("operation", ["gelu", "feed_forward", "gated_feed_forward"])
@pytest.mark.parametrize("form", ["erf", "tanh", "sigmoid"])
def test_the_form_of_gelu_is_found_and_conforms(form: str, operation: str) -> None:
    target = with_gelu(form)
    assert found(target, operation)["gelu_form"] == (form, "inferred")
    assert failures(judged(target, f"{operation}.*")) == set()


@pytest.mark.parametrize("operation", ["gelu", "feed_forward", "gated_feed_forward"])
def test_a_form_that_nobody_uses_is_not_taken_for_one(operation: str) -> None:
    target = with_gelu("none")
    assert found(target, operation)["gelu_form"] == ("erf", "standard")
    assert f"{operation}.value" in failures(judged(target, f"{operation}.value"))


def test_a_form_that_is_declared_and_contradicted_is_a_violation() -> None:
    target = with_gelu("tanh", conventions={"gelu_form": "erf"})
    assert found(target, "gelu")["gelu_form"] == ("erf", "declared")
    assert failures(judged(target, "gelu.*")) == {"gelu.value"}


def rms_norm_with(added: float) -> Callable[..., Array]:
    def rms_norm(x: Array, gamma: Array, *, eps: float) -> Array:
        root = np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + x.dtype.type(eps))
        return np.asarray(x / root * (gamma + x.dtype.type(added)))

    return rms_norm


@pytest.mark.parametrize(("gain", "added"), [("gamma", 0.0), ("one_plus_gamma", 1.0)])
def test_the_gain_that_is_stored_is_found_and_conforms(gain: str, added: float) -> None:
    target = SimpleNamespace(rms_norm=rms_norm_with(added))
    assert found(target, "rms_norm")["rms_norm_gain"] == (gain, "inferred")
    assert failures(judged(target, "rms_norm.*")) == set()


def test_another_gain_is_not_taken_for_a_convention() -> None:
    target = SimpleNamespace(rms_norm=rms_norm_with(2.0))
    assert found(target, "rms_norm")["rms_norm_gain"] == ("gamma", "standard")
    assert "rms_norm.value" in failures(judged(target, "rms_norm.*"))


def test_a_gain_that_is_declared_and_contradicted_is_a_violation() -> None:
    target = SimpleNamespace(rms_norm=rms_norm_with(0.0), conventions={"rms_norm_gain": "one_plus_gamma"})
    assert {"rms_norm.value", "rms_norm.gain"} <= failures(judged(target, "rms_norm.*"))
