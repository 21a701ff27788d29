"""Backward passes that are derived from a forward pass with several results, each with a gradient of its own."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from veriformer import reference
from veriformer.adapters.calling import prepare
from veriformer.adapters.errors import OperationRaised
from veriformer.adapters.loading import load

BACKWARD = "merge_attention_backward"
FRAMEWORKS = ("torch", "jax")


def merge(framework):
    library = pytest.importorskip({"torch": "torch", "jax": "jax.numpy"}[framework])

    def merge_attention(output_a, lse_a, output_b, lse_b):
        lse = library.logaddexp(lse_a, lse_b)
        shares = library.exp(lse_a - lse), library.exp(lse_b - lse)
        return shares[0][..., None] * output_a + shares[1][..., None] * output_b, lse

    return merge_attention


def implementation(framework, forward):
    return load(SimpleNamespace(framework=framework, merge_attention=forward))


def drawn():
    generator = np.random.default_rng(0)
    names = ("output_a", "lse_a", "output_b", "lse_b", "grad_output", "grad_lse")
    shapes = ((2, 3, 4, 5), (2, 3, 4)) * 3
    return {name: generator.integers(-3, 4, shape) / 2.0 for name, shape in zip(names, shapes, strict=True)}


def called(found, arguments, **settings):
    return prepare(found, BACKWARD, arguments, dtype="float32", **settings).run()


def joined(arguments):
    return np.concatenate([part.ravel() for part in reference.merge_attention_backward(**arguments)])


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("sequence", (tuple, list))
def test_the_gradients_are_those_of_both_results(sequence, framework):
    forward = merge(framework)
    result = called(implementation(framework, lambda *parts: sequence(forward(*parts))), drawn())
    assert result.shapes == ((2, 3, 4, 5), (2, 3, 4)) * 2
    np.testing.assert_allclose(result.value, joined(drawn()), atol=1e-5)


def test_a_compiled_forward_pass_has_both():
    jax = pytest.importorskip("jax")
    result = called(implementation("jax", jax.jit(merge("jax"))), drawn())
    np.testing.assert_allclose(result.value, joined(drawn()), atol=1e-5)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_layout_turns_outputs_and_leaves_logarithms(framework):
    forward = merge(framework)

    def turned(output_a, lse_a, output_b, lse_b):
        output, lse = forward(output_a.swapaxes(1, 2), lse_a, output_b.swapaxes(1, 2), lse_b)
        return output.swapaxes(1, 2), lse

    result = called(implementation(framework, turned), drawn(), layout="blhd")
    np.testing.assert_allclose(result.value, joined(drawn()), atol=1e-5)


def test_a_result_that_leads_nowhere_adds_nothing():
    forward = merge("torch")

    def detached(*parts):
        output, lse = forward(*parts)
        return output, lse.detach()

    without = drawn()
    without["grad_lse"] = np.zeros_like(without["grad_lse"])
    result = called(implementation("torch", detached), drawn())
    np.testing.assert_allclose(result.value, joined(without), atol=1e-5)


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize(
    ("wrong", "received"),
    (
        (lambda output, lse: (output,), r"shape \(2, 3, 4, 5\), and the gradients of its results have"),
        (lambda output, lse: output, r"shape \(2, 3, 4, 5\), and the gradients of its results have"),
        (lambda output, lse: (lse, output), r"shape \(2, 3, 4\) and shape \(2, 3, 4, 5\), and"),
    ),
)
def test_other_results_are_an_error(wrong, received, framework):
    forward = merge(framework)
    found = implementation(framework, lambda *parts: wrong(*forward(*parts)))
    with pytest.raises(OperationRaised, match=received):
        called(found, drawn())


def test_the_gradient_of_weights_keeps_its_axes_in_every_layout():
    torch = pytest.importorskip("torch")

    def attention_weights(query, key):
        query, key = query.swapaxes(1, 2), key.swapaxes(1, 2)
        return torch.softmax(query @ key.mT * query.shape[-1] ** -0.5, dim=-1)

    generator = np.random.default_rng(0)
    shapes = {"query": (2, 3, 4, 5), "key": (2, 3, 6, 5), "grad_output": (2, 3, 4, 6)}
    arguments = {name: generator.integers(-3, 4, shape) / 2.0 for name, shape in shapes.items()}
    found = load(SimpleNamespace(framework="torch", attention_weights=attention_weights))
    result = prepare(found, "attention_weights_backward", arguments, dtype="float32", layout="blhd").run()
    right = reference.attention_weights_backward(**arguments)
    np.testing.assert_allclose(result.value, np.concatenate([part.ravel() for part in right]), atol=1e-5)
