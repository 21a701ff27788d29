"""Gradients of a bias and of sinks that are derived from a forward pass with these keywords."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from veriformer import reference
from veriformer.adapters.calling import prepare
from veriformer.adapters.loading import load
from veriformer.conformance_tests import check

BIAS, SINKS = "attention_bias_backward", "attention_sinks_backward"
FRAMEWORKS = ("torch", "jax")


def torch_attention(query, key, value, *, mask=None, bias=None, sinks=None):
    import torch

    logits = query @ key.mT * query.shape[-1] ** -0.5
    logits = logits if bias is None else logits + bias
    logits = logits if mask is None else logits.masked_fill(~mask, -torch.inf)
    if sinks is None:
        return torch.softmax(logits, dim=-1) @ value
    column = sinks[:, None, None].expand(*logits.shape[:3], 1)
    return torch.softmax(torch.cat([logits, column], dim=-1), dim=-1)[..., :-1] @ value


def jax_attention(query, key, value, *, mask=None, bias=None, sinks=None):
    import jax
    import jax.numpy as jnp

    logits = query @ key.swapaxes(-1, -2) * query.shape[-1] ** -0.5
    logits = logits if bias is None else logits + bias
    logits = logits if mask is None else jnp.where(mask, logits, -jnp.inf)
    if sinks is None:
        return jax.nn.softmax(logits) @ value
    column = jnp.broadcast_to(sinks[:, None, None], (*logits.shape[:3], 1))
    return jax.nn.softmax(jnp.concatenate([logits, column], axis=-1))[..., :-1] @ value


def implementation(framework, forward=None, **more):
    pytest.importorskip(framework)
    forward = forward or {"torch": torch_attention, "jax": jax_attention}[framework]
    return load(SimpleNamespace(framework=framework, scaled_dot_product_attention=forward, **more))


def drawn(shape=(2, 3, 4, 5)):
    generator = np.random.default_rng(0)
    names = ("query", "key", "value", "grad_output")
    sizes = ((4, 3), (5, 3), (5, 2), (4, 2))
    arguments = {name: generator.integers(-3, 4, (2, 3, *size)) / 2.0 for name, size in zip(names, sizes, strict=True)}
    return arguments | {"bias": generator.integers(-3, 4, shape) / 2.0, "sinks": np.array([0.5, -1.0, 2.0])}


def called(found, operation, arguments):
    return prepare(found, operation, arguments, dtype="float32").run()


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("operation", (BIAS, SINKS))
@pytest.mark.parametrize("shape", ((2, 3, 4, 5), (1, 3, 4, 5), (4, 5), (2, 1, 1, 5)))
def test_the_gradient_is_that_of_the_keyword(shape, operation, framework):
    arguments = drawn(shape)
    result = called(implementation(framework), operation, arguments)
    right = getattr(reference, operation)(**arguments)
    assert result.shape == right.shape
    np.testing.assert_allclose(result.value, right, atol=1e-5)


def test_a_compiled_forward_pass_has_it():
    jax = pytest.importorskip("jax")
    found = implementation("jax", jax.jit(jax_attention))
    for operation in (BIAS, SINKS):
        right = getattr(reference, operation)(**drawn())
        np.testing.assert_allclose(called(found, operation, drawn()).value, right, atol=1e-5)


def test_nothing_is_derived_without_the_keyword():
    found = implementation("torch", lambda query, key, value, *, bias=None: torch_attention(query, key, value))
    assert BIAS in found.operations
    assert SINKS not in found.operations


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_none_prevents_each_alone_and_that_of_attention_prevents_all(framework):
    names = ("scaled_dot_product_attention_backward", BIAS, SINKS)
    for name, left in zip(names, ((), (names[0], SINKS), (names[0], BIAS)), strict=True):
        derived = implementation(framework, **{name: None}).derived
        assert [one for one in names if one in derived] == list(left)


def constant_bias(query, key, value, *, mask=None, bias=None, sinks=None):
    return torch_attention(query, key, value, mask=mask, bias=None if bias is None else bias.detach(), sinks=sinks)


def refused_bias(query, key, value, *, mask=None, bias=None, sinks=None):
    if bias is not None and bias.requires_grad:
        raise NotImplementedError("no gradient of a bias")
    return torch_attention(query, key, value, mask=mask, bias=bias, sinks=sinks)


@pytest.mark.parametrize(
    ("forward", "words"),
    ((constant_bias, "gives its bias no gradient"), (refused_bias, "cannot be differentiated by its bias")),
)
def test_a_bias_that_is_a_constant_is_not_accused(forward, words):
    pytest.importorskip("torch")
    implementation = SimpleNamespace(framework="torch", scaled_dot_product_attention=forward)
    report = check(implementation, operations=(BIAS,), tier="quick")
    assert {result.status for result in report.results} == {"not_declared"}
    assert sum(words in result.reason for result in report.results) > 15


def test_sinks_that_are_constants_are_accused_and_named():
    pytest.importorskip("torch")

    def forward(query, key, value, *, sinks=None):
        return torch_attention(query, key, value, sinks=None if sinks is None else sinks.detach())

    report = check(SimpleNamespace(framework="torch", scaled_dot_product_attention=forward), operations=(SINKS,))
    assert report.counts["failed"] >= 3
    assert "sink_gradient_dropped" in str(report.diagnoses)


def test_a_right_program_written_by_hand_holds_every_law():
    pytest.importorskip("jax")
    import jax
    import jax.numpy as jnp

    @jax.custom_vjp
    def attend(query, key, value, bias):
        return jax.nn.softmax(query @ key.swapaxes(-1, -2) * query.shape[-1] ** -0.5 + bias) @ value

    def there(query, key, value, bias):
        weights = jax.nn.softmax(query @ key.swapaxes(-1, -2) * query.shape[-1] ** -0.5 + bias)
        return weights @ value, (query, key, value, bias, weights)

    def back(kept, grad):
        query, key, value, bias, weights = kept
        of_weights = grad @ value.swapaxes(-1, -2)
        of_logits = weights * (of_weights - (weights * of_weights).sum(-1, keepdims=True))
        lengths = (1,) * (4 - bias.ndim) + bias.shape
        shared = tuple(axis for axis, length in enumerate(lengths) if length == 1)
        scaled = of_logits * query.shape[-1] ** -0.5
        of_bias = of_logits.sum(shared, keepdims=True).reshape(bias.shape)
        return scaled @ key, scaled.swapaxes(-1, -2) @ query, weights.swapaxes(-1, -2) @ grad, of_bias

    attend.defvjp(there, back)

    @jax.jit
    def forward(query, key, value, *, bias=None):
        return attend(query, key, value, jnp.zeros((1, 1), query.dtype) if bias is None else bias)

    report = check(SimpleNamespace(framework="jax", scaled_dot_product_attention=forward), operations=(BIAS,))
    assert report.exit_status == 0
    assert report.counts["passed"] > 20
