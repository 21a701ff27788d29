"""JAX functions of one vector or one head are called for all samples at once; what decides by values one by one."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from veriformer.adapters.jax_arrays import FRAMEWORK
from veriformer.adapters.matching.layouts import OneByOne, of_vectors
from veriformer.adapters.matching.namespaces import of_each
from veriformer.reference.attention import scaled_dot_product_attention

NAMES = ("query", "key", "value")


def softmax(x: Any) -> Any:
    weights = jnp.exp(x - x.max())
    return weights / weights.sum()


def test_vectors_have_one_call_together_and_the_values_of_single_calls() -> None:
    x = jnp.asarray(np.random.default_rng(1).normal(size=(3, 4, 5)), dtype=jnp.float32)
    calls: list[Any] = []

    def counted(given: Any) -> Any:
        calls.append(given["x"].shape)
        return softmax(given["x"])

    (one_vector,) = (layout for layout in of_vectors("x") if layout.words == "(E,), one vector")
    found = one_vector.call(counted, {"x": x})
    assert calls == [(5,)]
    alone = np.stack([np.asarray(softmax(row)) for row in x.reshape(12, 5)]).reshape(3, 4, 5)
    assert np.allclose(found, alone, rtol=1e-6, atol=0.0)


# A mask has samples and no heads; two samples share nothing.
@pytest.mark.parametrize("axes", [1, 2])
def test_attention_of_single_heads_or_samples_is_that_of_the_reference(axes: int) -> None:
    drawn = np.random.default_rng(2)
    given = {name: drawn.normal(size=(2, 3, 4, 5)).astype(np.float32) for name in NAMES}
    mask = drawn.random((2, 1, 4, 4)) < 0.7
    mask[..., 0] = True

    def inner(arguments: Any) -> Any:
        query, key, value, allowed = (arguments[name] for name in (*NAMES, "mask"))
        logits = query @ jnp.swapaxes(key, -1, -2) / jnp.sqrt(5.0)
        return jax.nn.softmax(jnp.where(allowed, logits, -jnp.inf), axis=-1) @ value

    layout = OneByOne("", 4 - axes, NAMES, axes)
    arrays = {name: jnp.asarray(array) for name, array in {**given, "mask": mask}.items()}
    expected = scaled_dot_product_attention(*(given[name].astype(np.float64) for name in NAMES), mask=mask)
    assert np.allclose(layout.call(inner, arrays), expected, rtol=1e-5, atol=1e-6)
    back, _ = jax.grad(lambda query: jnp.sum(layout.call(inner, {**arrays, "query": query}))), None
    alone = jax.grad(lambda query: jnp.sum(inner({**arrays, "query": query})))(arrays["query"])
    assert np.allclose(back(arrays["query"]), alone, rtol=1e-4, atol=1e-6)


def test_what_decides_by_values_is_called_one_by_one() -> None:
    def deciding(row: Any) -> Any:
        return row if float(row[0]) > 0 else -row

    x = jnp.asarray([[1.0, 2.0], [-3.0, 4.0]])
    assert np.asarray(of_each(deciding, x)).tolist() == [[1.0, 2.0], [3.0, -4.0]]


def test_the_arrays_stay_those_of_jax() -> None:
    assert FRAMEWORK.is_array(of_each(softmax, jnp.ones((2, 3))))
