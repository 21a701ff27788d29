"""Backward passes that automatic differentiation derives: when, with which features, and what is refused."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from veriformer import reference
from veriformer.adapters.calling import prepare
from veriformer.adapters.errors import NotDifferentiable, OperationRaised
from veriformer.adapters.loading import load
from veriformer.conformance_tests import check

BACKWARD = "scaled_dot_product_attention_backward"
FRAMEWORKS = ("torch", "jax")


def attention(query, key, value, *, mask=None, scale=None):
    import torch

    logits = query @ key.transpose(-1, -2) * (query.shape[-1] ** -0.5 if scale is None else scale)
    return torch.softmax(logits if mask is None else logits.masked_fill(~mask, -torch.inf), dim=-1) @ value


def jax_attention(query, key, value, *, mask=None):
    import jax

    logits = query @ key.swapaxes(-1, -2) * query.shape[-1] ** -0.5
    return jax.nn.softmax(logits if mask is None else jax.numpy.where(mask, logits, -jax.numpy.inf)) @ value


def implementation(framework, forward=None, **more):
    pytest.importorskip(framework)
    forward = forward or {"torch": attention, "jax": jax_attention}[framework]
    return load(SimpleNamespace(framework=framework, scaled_dot_product_attention=forward, **more))


def drawn(seed=0):
    generator = np.random.default_rng(seed)
    names = ("query", "key", "value", "grad_output")
    sizes = ((4, 3), (5, 3), (5, 2), (4, 2))
    return {name: generator.integers(-3, 4, (2, 3, *size)) / 2.0 for name, size in zip(names, sizes, strict=True)}


def called(found, arguments, **more):
    return prepare(found, BACKWARD, arguments, dtype="float32", **more)


def joined(arguments):
    return np.concatenate([part.ravel() for part in reference.scaled_dot_product_attention_backward(**arguments)])


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_gradients_are_those_of_the_forward_pass(framework):
    arguments = drawn() | {"mask": np.random.default_rng(1).random((2, 3, 4, 5)) < 0.7}
    arguments["mask"][..., 0] = True
    result = called(implementation(framework), arguments).run()
    assert result.shapes == ((2, 3, 4, 3), (2, 3, 5, 3), (2, 3, 5, 2))
    assert result.dtype == "float32"
    np.testing.assert_allclose(result.value, joined(arguments), atol=1e-5)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_layout_turns_the_gradients_too(framework):
    plain = {"torch": attention, "jax": jax_attention}[framework]

    def turned(query, key, value):
        return plain(query.swapaxes(1, 2), key.swapaxes(1, 2), value.swapaxes(1, 2)).swapaxes(1, 2)

    result = called(implementation(framework, turned), drawn(), layout="blhd").run()
    np.testing.assert_allclose(result.value, joined(drawn()), atol=1e-5)


def test_a_compiled_forward_pass_keeps_its_static_keywords():
    jax = pytest.importorskip("jax")

    def forward(query, key, value, *, is_causal=False, scale=None):
        mask = jax.numpy.tril(jax.numpy.ones((query.shape[-2], key.shape[-2]), bool)) if is_causal else None
        return jax_attention(query * (1.0 if scale is None else scale * query.shape[-1] ** 0.5), key, value, mask=mask)

    found = implementation("jax", jax.jit(forward, static_argnames=("is_causal", "scale")))
    for more in ({"is_causal": True}, {"scale": 0.25}, {"is_causal": True, "scale": 2.0}):
        arguments = drawn() | more
        np.testing.assert_allclose(called(found, arguments).run().value, joined(arguments), atol=1e-4)


def test_features_are_those_of_the_forward_pass_that_the_backward_pass_has():
    def forward(query, key, value, *, bias=None, is_causal=False, window=None):
        return query

    found = implementation("torch", forward)
    forward_passes = dict.fromkeys((BACKWARD, "attention_bias_backward"), "scaled_dot_product_attention")
    assert found.derived == forward_passes
    assert found.features(BACKWARD) == {"bias", "is_causal", "window"}
    assert found.unaccepted_call(BACKWARD) == ""
    assert found.misspelt_keywords(BACKWARD) == ()


def test_conventions_and_limitations_are_those_of_the_forward_pass():
    conventions = {"scaled_dot_product_attention.layout": "blhd", "layout": "bhld"}
    found = implementation("torch", conventions=conventions, limitations=("scaled_dot_product_attention.value_width",))
    assert found.declared_convention("layout", BACKWARD) == "blhd"
    assert found.limited(BACKWARD, "value_width")


def test_a_backward_pass_of_its_own_or_none_at_all_is_respected():
    assert implementation("torch", **{BACKWARD: attention}).derived == {}
    assert not implementation("torch", **{BACKWARD: None}).declares(BACKWARD)


def test_nothing_is_derived_for_numpy_or_without_a_forward_pass():
    assert not load(SimpleNamespace(scaled_dot_product_attention=attention)).declares(BACKWARD)
    pytest.importorskip("torch")
    assert not load(SimpleNamespace(framework="torch", softmax=attention)).declares(BACKWARD)


def test_numpy_refuses_to_differentiate():
    with pytest.raises(NotDifferentiable, match="no automatic differentiation"):
        load("numpy").framework.vector_jacobian_product(np.sin, (np.ones(3),), (np.ones(3),), (0,))


def test_a_result_cut_off_from_its_inputs_is_an_error():
    found = implementation("torch", lambda query, key, value: attention(query, key, value).detach())
    with pytest.raises(OperationRaised, match="cut off from its inputs"):
        called(found, drawn()).run()


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_forward_pass_of_another_shape_is_an_error(framework):
    found = implementation(framework, lambda query, key, value: query)
    with pytest.raises(OperationRaised, match="forward pass returned shape"):
        called(found, drawn()).run()


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_an_input_that_the_result_does_not_depend_on_has_the_gradient_zero(framework):
    found = implementation(framework, lambda query, key, value: value[:, :, :4] * 1.0)
    arguments = drawn()
    result = called(found, arguments).run().value
    assert not result[: 2 * 3 * 9 * 3].any()
    np.testing.assert_array_equal(result[2 * 3 * 9 * 3 :].reshape(2, 3, 5, 2)[:, :, :4], arguments["grad_output"])


def test_torch_records_gradients_in_the_forward_pass_only_and_changes_no_argument():
    torch = pytest.importorskip("torch")
    seen = []

    def forward(query, key, value):
        seen.append((torch.is_grad_enabled(), query.is_leaf, query.requires_grad))
        return attention(query, key, value)

    call = called(implementation("torch", forward), drawn())
    call.run()
    assert seen == [(True, True, True)]
    assert not any(array.requires_grad for array in call.framework_arguments.values())


IN_PLACE = """
import torch
framework = "torch"
def scaled_dot_product_attention(query, key, value):
    weights = query @ key.mT / query.shape[-1] ** 0.5
    weights.sub_(weights.amax(-1, keepdim=True)).exp_()
    return weights.div_(weights.sum(-1, keepdim=True)) @ value
"""


@pytest.mark.parametrize("isolate", [False, True])
def test_a_forward_pass_that_torch_refuses_to_differentiate_is_not_accused(tmp_path: Path, isolate: bool) -> None:
    pytest.importorskip("torch")
    file = tmp_path / "in_place.py"
    file.write_text(IN_PLACE)
    report = check(str(file), operations=("scaled_dot_product_attention_backward",), tier="quick", isolate=isolate)
    refused = [result for result in report.results if "writes over what gradients need" in result.reason]
    assert report.exit_status == 0
    assert len(refused) > 15
    assert {result.status for result in refused} == {"not_declared"}
