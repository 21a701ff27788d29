"""Implementations with derivatives of their own, each called as users call it: a right one holds, a wrong one not."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from veriformer.conformance_tests import check
from veriformer.conformance_tests.run.report import Report

torch = pytest.importorskip("torch")
jax = pytest.importorskip("jax")
jnp = jax.numpy


def weights_back(weights: Any, gradient: Any, average: Callable[[Any], Any], factor: float) -> Any:
    return factor * weights * (gradient - average(weights * gradient))


def of_torch(products: Any) -> Any:
    return products.sum(dim=-1, keepdim=True)


def of_jax(products: Any) -> Any:
    return products.sum(axis=-1, keepdims=True)


def autograd_function(factor: float) -> Any:
    class Softmax(torch.autograd.Function):
        @staticmethod
        def forward(context: Any, x: Any) -> Any:
            weights = torch.softmax(x, dim=-1)
            context.save_for_backward(weights)
            return weights

        @staticmethod
        def backward(context: Any, grad_output: Any) -> Any:
            return weights_back(*context.saved_tensors, grad_output, of_torch, factor)

    return lambda x: Softmax.apply(x)


def function_with_setup_context(factor: float) -> Any:
    """The form that torch.func transforms too."""

    class Softmax(torch.autograd.Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return torch.softmax(x, dim=-1)

        @staticmethod
        def setup_context(context: Any, inputs: Any, output: Any) -> None:
            context.save_for_backward(output)

        @staticmethod
        def backward(context: Any, grad_output: Any) -> Any:
            return weights_back(*context.saved_tensors, grad_output, of_torch, factor)

    return lambda x: Softmax.apply(x)


def compiled(factor: float) -> Any:
    inner = autograd_function(factor)
    # The tracer and its backward pass, without a C++ compiler, which not every machine has.
    return torch.compile(lambda x: inner(x), backend="aot_eager", dynamic=True)


def gradient_hook(factor: float) -> Any:
    def softmax(x: Any) -> Any:
        weights = torch.softmax(x, dim=-1)
        if weights.requires_grad:
            weights.register_hook(lambda gradient: factor * gradient)
        return weights

    return softmax


def custom_vjp(factor: float) -> Any:
    @jax.custom_vjp
    def softmax(x: Any) -> Any:
        return jax.nn.softmax(x)

    def forward(x: Any) -> Any:
        weights = jax.nn.softmax(x)
        return weights, weights

    softmax.defvjp(forward, lambda weights, gradient: (weights_back(weights, gradient, of_jax, factor),))
    return softmax


def custom_jvp(factor: float) -> Any:
    @jax.custom_jvp
    def softmax(x: Any) -> Any:
        return jax.nn.softmax(x)

    @softmax.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        weights = softmax(*primals)
        return weights, weights_back(weights, tangents[0], of_jax, factor)

    return softmax


def jitted_vjp(factor: float) -> Any:
    return jax.jit(custom_vjp(factor))


def checkpointed(factor: float) -> Any:
    """The forward pass is computed again on the way back."""
    inner = autograd_function(factor)
    return lambda x: torch.utils.checkpoint.checkpoint(inner, x, use_reentrant=False)


def checkpointed_by_reentrance(factor: float) -> Any:
    """The older form, which goes back by a call of `backward()` inside the graph's own."""
    inner = autograd_function(factor)
    return lambda x: torch.utils.checkpoint.checkpoint(inner, x, use_reentrant=True)


def rematerialised(factor: float) -> Any:
    return jax.checkpoint(custom_vjp(factor))


def vjp_of_torch_func(factor: float) -> Any:
    def softmax_backward(x: Any, grad_output: Any) -> Any:
        _, back = torch.func.vjp(function_with_setup_context(factor), x)
        return back(grad_output)[0]

    return softmax_backward


def graph_used_twice(factor: float) -> Any:
    def softmax_backward(x: Any, grad_output: Any) -> Any:
        leaf = x.detach().requires_grad_()
        with torch.enable_grad():
            weights = torch.softmax(leaf, dim=-1)
        (first,) = torch.autograd.grad(weights, leaf, grad_output, retain_graph=True)
        (second,) = torch.autograd.grad(weights, leaf, grad_output)
        return factor * (first + second) / 2

    return softmax_backward


def gradient_accumulated(factor: float) -> Any:
    """By `backward()`, which adds to `.grad`."""

    def softmax_backward(x: Any, grad_output: Any) -> Any:
        leaf = x.detach().requires_grad_()
        with torch.enable_grad():
            torch.softmax(leaf, dim=-1).backward(grad_output)
        return factor * leaf.grad

    return softmax_backward


def jitted_backward(factor: float) -> Any:
    def softmax_backward(x: Any, grad_output: Any) -> Any:
        _, back = jax.vjp(jax.nn.softmax, x)
        return factor * back(grad_output)[0]

    return jax.jit(softmax_backward)


WAYS: dict[str, tuple[str, str, Callable[[float], Any]]] = {
    "torch.autograd.Function": ("torch", "softmax", autograd_function),
    "setup_context": ("torch", "softmax", function_with_setup_context),
    "torch.compile": ("torch", "softmax", compiled),
    "register_hook": ("torch", "softmax", gradient_hook),
    "checkpoint": ("torch", "softmax", checkpointed),
    "checkpoint, reentrant": ("torch", "softmax", checkpointed_by_reentrance),
    "jax.checkpoint": ("jax", "softmax", rematerialised),
    "jax.custom_vjp": ("jax", "softmax", custom_vjp),
    "jax.custom_jvp": ("jax", "softmax", custom_jvp),
    "jax.jit of custom_vjp": ("jax", "softmax", jitted_vjp),
    "torch.func.vjp": ("torch", "softmax_backward", vjp_of_torch_func),
    "retain_graph": ("torch", "softmax_backward", graph_used_twice),
    "backward()": ("torch", "softmax_backward", gradient_accumulated),
    "jax.vjp under jit": ("jax", "softmax_backward", jitted_backward),
}


LAWS = ("softmax_backward.grad_x", "softmax_backward.grad_output.linear", "softmax_backward.inputs_unchanged")


def report_on(way: str, factor: float) -> Report:
    framework, operation, made = WAYS[way]
    found = SimpleNamespace(framework=framework, dtypes=("float32",), **{operation: made(factor)})
    return check(found, laws=LAWS, tier="quick", shrink=False, diagnosis=False)


@pytest.mark.parametrize("way", WAYS)
def test_a_right_derivative_holds(way: str) -> None:
    statuses = {result.law.id: result.status for result in report_on(way, 1.0).results}
    assert {law: statuses[law] for law in LAWS} == dict.fromkeys(LAWS, "passed")


@pytest.mark.parametrize("way", WAYS)
def test_a_derivative_that_is_twice_too_large_does_not(way: str) -> None:
    statuses = {result.law.id: result.status for result in report_on(way, 2.0).results}
    assert statuses["softmax_backward.grad_x"] == "failed"
    assert statuses["softmax_backward.grad_output.linear"] == "passed"


def copied(x: Any, gamma: Any, beta: Any, *, eps: float) -> Any:
    module = torch.nn.LayerNorm(gamma.shape[0], eps=eps, dtype=gamma.dtype)
    module.load_state_dict({"weight": gamma, "bias": beta})
    return module(x)


def given_to_the_module(x: Any, gamma: Any, beta: Any, *, eps: float) -> Any:
    module = torch.nn.LayerNorm(gamma.shape[0], eps=eps, dtype=gamma.dtype)
    return torch.func.functional_call(module, {"weight": gamma, "bias": beta}, (x,))


def one_left_out(x: Any, gamma: Any, beta: Any, *, eps: float) -> Any:
    return torch.nn.functional.layer_norm(x, gamma.shape, gamma.detach(), beta, eps)


@pytest.mark.parametrize(
    ("layer_norm", "status"), [(copied, "not_declared"), (given_to_the_module, "passed"), (one_left_out, "failed")]
)
def test_weights_that_a_module_copies_are_held_against_nobody(layer_norm: Any, status: str) -> None:
    """No gradient reaches a weight that was copied, nor one that was cut off: only copies are parameters themselves."""
    found = SimpleNamespace(framework="torch", dtypes=("float32",), layer_norm=layer_norm)
    law = "layer_norm_backward.grad_gamma"
    (result,) = check(found, laws=(law,), tier="quick", shrink=False, diagnosis=False).results
    assert result.status == status
