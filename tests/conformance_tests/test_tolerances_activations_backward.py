"""The error bound of the gradients of activations: right programs stay inside, and defects of a few per cent do not.

The programs are differentiated by torch and jax, each intermediate result rounded to the dtype.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from veriformer.conformance_tests.core.expected import Expected
from veriformer.conformance_tests.core.subject import standard_conventions
from veriformer.conformance_tests.drawing.values import round_to_dtype
from veriformer.conformance_tests.operations.activations_backward.inputs import ActivationBackwardInputs

jax = pytest.importorskip("jax")
torch = pytest.importorskip("torch")
jnp, functional = jax.numpy, torch.nn.functional

Array = np.ndarray
ROOT = 0.7978845608028654
DTYPES = ("float16", "bfloat16", "float32", "float64")
TORCH: dict[str, list[Callable[[Any], Any]]] = {
    "gelu erf": [functional.gelu, lambda x: 0.5 * x * (1 + torch.erf(x / 2**0.5))],
    "gelu tanh": [
        lambda x: functional.gelu(x, approximate="tanh"),
        lambda x: 0.5 * x * (1 + torch.tanh(ROOT * (x + 0.044715 * x**3))),
        lambda x: 0.5 * x * (1 + torch.tanh(x * ROOT * (1 + 0.044715 * x * x))),
        lambda x: x * torch.sigmoid(2 * ROOT * (x + 0.044715 * x**3)),
    ],
    "gelu sigmoid": [lambda x: x * torch.sigmoid(1.702 * x)],
    "silu erf": [functional.silu, lambda x: x * torch.sigmoid(x), lambda x: x * 0.5 * (1 + torch.tanh(x / 2))],
}
JAX: dict[str, list[Callable[[Any], Any]]] = {
    "gelu erf": [lambda x: jax.nn.gelu(x, approximate=False)],
    "gelu tanh": [jax.nn.gelu, jax.jit(jax.nn.gelu)],
    "gelu sigmoid": [lambda x: x * jax.nn.sigmoid(1.702 * x)],
    "silu erf": [jax.nn.silu, lambda x: x * 0.5 * (1 + jnp.tanh(x / 2))],
}


def drawn(operation: str, dtype: str) -> ActivationBackwardInputs:
    generator = np.random.default_rng(0)
    # In float16 the square of x, which the tanh form differentiates, is infinite soon after.
    x = np.concatenate([generator.uniform(-12, 12, 2000), generator.normal(size=1000), generator.uniform(-99, 99, 500)])
    rounded, gradient = (round_to_dtype(one[None, None], dtype) for one in (x, generator.normal(size=x.shape)))
    return ActivationBackwardInputs(f"{operation}_backward", dtype, rounded, gradient)


def exact(inputs: ActivationBackwardInputs, form: str) -> Expected:
    return inputs.expected({**standard_conventions(), "gelu_form": form})


def by_torch(function: Callable[[Any], Any], inputs: ActivationBackwardInputs) -> Array:
    dtype = getattr(torch, inputs.dtype)
    x, gradient = (torch.tensor(array).to(dtype) for array in (inputs.x, inputs.grad_output))
    x.requires_grad_()
    (found,) = torch.autograd.grad(function(x), x, gradient)
    return np.asarray(found.double().numpy())


def by_jax(function: Callable[[Any], Any], inputs: ActivationBackwardInputs) -> Array:
    x, gradient = (jnp.asarray(array, inputs.dtype) for array in (inputs.x, inputs.grad_output))
    return np.asarray(jax.vjp(function, x)[1](gradient)[0], dtype=np.float64)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", TORCH)
def test_torch_stays_inside_the_bound(name: str, dtype: str) -> None:
    operation, form = name.split()
    inputs = drawn(operation, dtype)
    expected = exact(inputs, form)
    for program in TORCH[name]:
        assert np.all(np.abs(by_torch(program, inputs) - expected.value) <= expected.allowed)


@pytest.mark.parametrize("dtype", DTYPES[:-1])
@pytest.mark.parametrize("name", JAX)
def test_jax_stays_inside_the_bound(name: str, dtype: str) -> None:
    operation, form = name.split()
    inputs = drawn(operation, dtype)
    expected = exact(inputs, form)
    for program in JAX[name]:
        assert np.all(np.abs(by_jax(program, inputs) - expected.value) <= expected.allowed)


@pytest.mark.parametrize("name", TORCH)
def test_a_per_mille_more_is_outside_it_in_single_precision(name: str) -> None:
    operation, form = name.split()
    inputs = drawn(operation, "float32")
    expected = exact(inputs, form)
    near = np.abs(inputs.x) < 2.0
    outside = np.abs(0.001 * expected.value) > expected.allowed
    assert np.mean(outside[near]) > 0.9


@pytest.mark.parametrize("name", TORCH)
def test_a_quarter_more_is_outside_it_in_bfloat16(name: str) -> None:
    operation, form = name.split()
    inputs = drawn(operation, "bfloat16")
    expected = exact(inputs, form)
    positive = (inputs.x > 0.0) & (inputs.x < 2.0)
    assert np.mean((np.abs(0.25 * expected.value) > expected.allowed)[positive]) > 0.9


def test_other_forms_of_gelu_are_outside_it() -> None:
    inputs = drawn("gelu", "float32")
    for form in ("erf", "tanh", "sigmoid"):
        for other in {"erf", "tanh", "sigmoid"} - {form}:
            expected = exact(inputs, form)
            assert np.any(np.abs(exact(inputs, other).value - expected.value) > expected.allowed)
