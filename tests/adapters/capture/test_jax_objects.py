"""Models of JAX that are no modules of a library: own classes, partial functions, functions in a closure."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

jax = pytest.importorskip("jax")
jnp = jax.numpy

from veriformer.adapters.capture.captured import capture_model  # noqa: E402 - JAX may be missing
from veriformer.adapters.capture.jax_objects import is_jax_class, is_jax_object, pair_of  # noqa: E402
from veriformer.adapters.capture.models import find_model  # noqa: E402
from veriformer.adapters.errors import NotAModel  # noqa: E402

WIDTH, VOCABULARY = 16, 24


def drawn(*shape):
    return jax.random.normal(jax.random.PRNGKey(sum(shape)), shape) / WIDTH**0.5


class Linear:
    def __init__(self, *shape):
        self.weight, self.bias = drawn(*shape), drawn(shape[-1])

    def __call__(self, x):
        return x @ self.weight + self.bias


class Network:
    """A tied embedding, layers in a list, and a jitted method that is kept on the object."""

    def __init__(self):
        self.embed, self.layers = drawn(VOCABULARY, WIDTH), [Linear(WIDTH, WIDTH) for _ in range(2)]
        self.head, self.calls = self.embed, 0

    @partial(jax.jit, static_argnums=0)
    def body(self, x):
        for layer in self.layers:
            x = x + jax.nn.gelu(layer(x))
        return x

    def __call__(self, tokens):
        self.calls += 1
        return self.body(self.embed[tokens]) @ self.head.T


def closed(network):
    parameters = {"network": network, "scale": 2.0}
    return lambda tokens: parameters["network"](tokens) * parameters["scale"]


@pytest.mark.parametrize(
    "made",
    [lambda one: one, closed, lambda one: partial(lambda weights, tokens: weights["inner"](tokens), {"inner": one})],
)
def test_a_call_with_its_own_arrays_gives_what_the_object_gives(made):
    network = Network()
    tokens = jnp.arange(10).reshape(2, 5)
    model = made(network)
    expected = model(tokens)
    function, parameters = pair_of(model)
    assert {"embed", "head", "layers.0.weight", "layers.1.bias"} == {
        name.removeprefix("network.").removeprefix("inner.") for name in parameters
    } - {"layers.0.bias", "layers.1.weight"}
    np.testing.assert_array_equal(function(parameters, tokens), expected)
    others = {name: 2.0 * array for name, array in parameters.items()}
    assert not np.allclose(function(others, tokens), expected)
    # Neither is the object changed, nor does what was compiled for it answer for the copy.
    np.testing.assert_array_equal(model(tokens), expected)


def test_gradients_reach_the_arrays_of_an_object():
    function, parameters = pair_of(Network())
    tied = lambda one: {**one, "head": one["embed"]}  # noqa: E731 - one array under two names
    gradients = jax.grad(lambda one: function(tied(one), jnp.arange(4)[None]).sum())(parameters)
    assert {name for name, one in gradients.items() if np.abs(np.asarray(one)).max() > 0.0} == {*parameters} - {"head"}


def test_an_object_is_recorded_and_left_as_it_was():
    network = Network()
    weight = network.layers[0].weight
    trace = capture_model(network, seed=3)
    assert network.calls == 0
    assert network.layers[0].weight is weight
    assert {"embed", "layers.0.weight", "layers.1.bias"} <= set(trace.parameters)
    # One array under two names is one parameter.
    assert "head" not in trace.parameters


def test_what_builds_a_partial_function_or_a_closure_builds_a_model():
    def build():
        return closed(Network())

    assert find_model(build, "build").framework == "jax"
    assert find_model(Network, "Network").framework == "jax"


def test_what_holds_no_arrays_of_jax_is_no_model_of_it():
    assert is_jax_class(Network)
    assert not is_jax_class(dict)
    assert not is_jax_object(SimpleNamespace(weight=drawn(3)))
    assert not is_jax_object(partial(np.matmul, np.ones(3)))
    with pytest.raises(NotAModel):
        find_model(partial(lambda x, y: x + y, 1.0), "partial")
