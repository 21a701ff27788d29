"""The gradients of GELU and SiLU against torch's and against exact derivatives."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from veriformer import reference

X = np.concatenate([np.linspace(-9.0, 9.0, 145), [-40.0, 40.0, 1e-8, -750.0]])
FORMS = ("erf", "tanh", "sigmoid")


def by_torch(function: Any) -> np.ndarray:
    x = torch.tensor(X, requires_grad=True)
    (gradient,) = torch.autograd.grad(function(x), x, torch.tensor(1.0 + np.abs(X)))
    return gradient.numpy()


@pytest.mark.parametrize(
    ("form", "function"),
    [
        ("erf", torch.nn.functional.gelu),
        ("tanh", lambda x: torch.nn.functional.gelu(x, approximate="tanh")),
        ("sigmoid", lambda x: x * torch.sigmoid(1.702 * x)),
    ],
)
def test_gelu_agrees_with_torch(form: Any, function: Any) -> None:
    assert_allclose(reference.gelu_backward(X, 1.0 + np.abs(X), form), by_torch(function), rtol=1e-12, atol=1e-11)


def test_silu_agrees_with_torch() -> None:
    assert_allclose(reference.silu_backward(X, 1.0 + np.abs(X)), by_torch(torch.nn.functional.silu), rtol=1e-12)


GATES = {
    "erf": mpmath.ncdf,
    "tanh": lambda x: (1 + mpmath.tanh(mpmath.sqrt(2 / mpmath.pi) * (x + mpmath.mpf("0.044715") * x**3))) / 2,
    "sigmoid": lambda x: 1 / (1 + mpmath.exp(-mpmath.mpf("1.702") * x)),
    "silu": lambda x: 1 / (1 + mpmath.exp(-x)),
}


@pytest.mark.parametrize("form", GATES)
@pytest.mark.parametrize("x", [-6.5, -3.0, -1.0, 0.0, 0.25, 2.0, 5.0])
def test_digits_survive_in_the_tail(form: Any, x: float) -> None:
    """1 + h cancels far left, where the derivative is small: the reference keeps its digits."""
    with mpmath.workdps(40):
        exact = float(mpmath.diff(lambda s: s * GATES[form](s), mpmath.mpf(x)))
    at = np.array([x])
    found = reference.silu_backward(at, at * 0 + 1) if form == "silu" else reference.gelu_backward(at, at * 0 + 1, form)
    assert_allclose(found, [exact], rtol=1e-12)


@pytest.mark.parametrize("x", [1e30, -1e30, 1e200, -1e200, 1.7e308, -1.7e308])
@pytest.mark.parametrize("form", GATES)
def test_far_from_zero_a_gradient_passes_or_does_not(form: Any, x: float) -> None:
    at, gradient = np.array([x]), np.array([3.0])
    found = reference.silu_backward(at, gradient) if form == "silu" else reference.gelu_backward(at, gradient, form)
    assert found == (3.0 if x > 0 else 0.0)


@pytest.mark.parametrize("function", [reference.gelu_backward, reference.silu_backward])
@pytest.mark.parametrize("shape", [(), (3,), (2, 0), (2, 3, 4)])
def test_any_shape(function: Any, shape: tuple[int, ...]) -> None:
    assert function(np.zeros(shape), np.ones(shape)).tolist() == np.full(shape, 0.5).tolist()
