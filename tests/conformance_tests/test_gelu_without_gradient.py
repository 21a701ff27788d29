"""A GELU through which no gradient, or half of it, passes: it is caught, and its mistake has its name."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from veriformer.conformance_tests import check
from veriformer.conformance_tests.run.report import Report

torch = pytest.importorskip("torch")
jax = pytest.importorskip("jax")
jnp = jax.numpy


def zeros_by_function() -> Any:
    class Gelu(torch.autograd.Function):
        @staticmethod
        def forward(context: Any, x: Any) -> Any:
            return torch.nn.functional.gelu(x)

        @staticmethod
        def backward(context: Any, grad_output: Any) -> Any:
            return torch.zeros_like(grad_output)

    return lambda x: Gelu.apply(x)


def detached_gate() -> Any:
    return lambda x: x * (0.5 * (1 + torch.erf(x / 2**0.5))).detach()


def zeros_by_custom_jvp() -> Any:
    @jax.custom_jvp
    def gelu(x: Any) -> Any:
        return jax.nn.gelu(x)

    @gelu.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        return gelu(*primals), jnp.zeros_like(tangents[0])

    return gelu


def zeros_by_custom_vjp() -> Any:
    @jax.custom_vjp
    def gelu(x: Any) -> Any:
        return jax.nn.gelu(x)

    gelu.defvjp(lambda x: (gelu(x), None), lambda _, grad_output: (jnp.zeros_like(grad_output),))
    return gelu


def stopped_gate() -> Any:
    return lambda x: x * jax.lax.stop_gradient(jax.scipy.stats.norm.cdf(x))


def zeros_by_hand() -> Any:
    return lambda x, grad_output: np.zeros_like(grad_output)


CUT_OFF, DETACHED = "gradient_cut_off", "activation_gate_detached"
PROGRAMS = {
    "torch.autograd.Function": ("torch", "gelu", zeros_by_function, CUT_OFF),
    "detach()": ("torch", "gelu", detached_gate, DETACHED),
    "jax.custom_jvp": ("jax", "gelu", zeros_by_custom_jvp, CUT_OFF),
    "jax.custom_vjp": ("jax", "gelu", zeros_by_custom_vjp, CUT_OFF),
    "stop_gradient": ("jax", "gelu", stopped_gate, DETACHED),
    "numpy": ("numpy", "gelu_backward", zeros_by_hand, CUT_OFF),
}


def report_on(name: str) -> Report:
    framework, operation, made, _ = PROGRAMS[name]
    found = SimpleNamespace(framework=framework, dtypes=("float32",), **{operation: made()})
    return check(found, operations=("gelu_backward",), tier="quick", shrink=False)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.long] if made[0] == "jax" else []) for name, made in PROGRAMS.items()],
)
def test_it_is_caught_and_named(name: str) -> None:
    report = report_on(name)
    statuses = {result.law.id: result.status for result in report.results}
    assert statuses["gelu_backward.grad_x"] == "failed"
    (diagnosis,) = report.diagnoses
    assert diagnosis.suspects[0].mistakes == (PROGRAMS[name][3],)
