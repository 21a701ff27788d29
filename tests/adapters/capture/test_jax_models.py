"""Flax NNX, Equinox and Keras models, recorded: paths, modules, evaluation mode, and that nothing changes in them."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest

jax = pytest.importorskip("jax")
nnx = pytest.importorskip("flax.nnx")
equinox = pytest.importorskip("equinox")
import jax.numpy as jnp  # noqa: E402
from veriformer.adapters.capture.jax import capture  # noqa: E402
from veriformer.adapters.capture.trace import Kind  # noqa: E402
from veriformer.adapters.capture.weights import generator_of, perturbed  # noqa: E402

TOKENS = np.random.default_rng(7).integers(0, 19, (2, 11))
WIDTH, HEADS = 12, 3


class Attention(nnx.Module):
    def __init__(self, rngs):
        self.qkv = nnx.Linear(WIDTH, 3 * WIDTH, rngs=rngs)
        self.out = nnx.Linear(WIDTH, WIDTH, rngs=rngs)

    def __call__(self, x):
        q, k, v = (t.reshape(*x.shape[:2], HEADS, -1) for t in jnp.split(self.qkv(x), 3, axis=-1))
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) * 0.5
        scores = jnp.where(jnp.tri(x.shape[1], dtype=bool), scores, -jnp.inf)
        return self.out(jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v).reshape(x.shape))


class Block(nnx.Module):
    def __init__(self, rngs):
        self.attention = Attention(rngs)
        self.norm = nnx.LayerNorm(WIDTH, rngs=rngs)
        self.dropout = nnx.Dropout(0.5, rngs=rngs)

    def __call__(self, x):
        return x + self.dropout(self.attention(self.norm(x)))


class LanguageModel(nnx.Module):
    def __init__(self):
        rngs = nnx.Rngs(0)
        self.embed = nnx.Embed(19, WIDTH, rngs=rngs)
        self.layers = nnx.List([Block(rngs) for _ in range(2)])
        self.batch_norm = nnx.BatchNorm(WIDTH, rngs=rngs)
        self.unembed = nnx.Linear(WIDTH, 19, use_bias=False, rngs=rngs)

    def __call__(self, tokens):
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.unembed(self.batch_norm(x))


def parts(module, trace):
    return [step for step in trace.steps if step.module == module]


def test_flax_outputs_are_the_models_own_to_the_last_bit(assert_in_order):
    model = LanguageModel()
    trace = capture(model, (TOKENS,))
    assert_in_order(trace)
    assert (trace.framework, trace.dtype) == ("flax", "float64")
    with jax.enable_x64(True), jax.disable_jit():
        graph, state = nnx.split(model)
        wide = nnx.merge(
            graph,
            jax.tree.map(
                lambda leaf: leaf.astype(jnp.float64) if jnp.issubdtype(leaf.dtype, jnp.floating) else leaf, state
            ),
        )
        wide.eval()
        for module in (wide.embed, wide.batch_norm):
            module.dtype = jnp.float64
        expected = np.asarray(wide(jnp.asarray(TOKENS, dtype=jnp.int32)))
    np.testing.assert_array_equal(trace.values[trace.outputs[0]].array, expected)


def test_flax_outputs_are_near_what_a_user_gets():
    model = LanguageModel()
    trace = capture(model, (TOKENS,))
    model.eval()
    np.testing.assert_allclose(trace.values[trace.outputs[0]].array, model(jnp.asarray(TOKENS)), rtol=1e-3, atol=1e-5)


def test_flax_parameters_and_modules_have_paths():
    trace = capture(LanguageModel(), (TOKENS,))
    assert {"embed.embedding", "layers.1.attention.qkv.kernel", "layers.0.norm.scale"} <= set(trace.parameters)
    assert "batch_norm.mean" not in trace.parameters
    assert {value.name for value in trace.values if value.origin == "buffer"} >= {"batch_norm.mean", "batch_norm.var"}
    assert trace.modules["layers.1.attention"] == "Attention" and trace.modules[""] == "LanguageModel"
    assert [step.operation for step in parts("layers.0.attention.qkv", trace)] == ["dot_general", "reshape", "add"]
    assert Kind.LOOKUP in {step.kind for step in parts("embed", trace)}
    start = inspect.getsourcelines(Attention.__call__)[1]
    assert {step.line for step in parts("layers.0.attention.qkv", trace)} == {start + 1}


def test_a_flax_model_is_left_as_it_was():
    model = LanguageModel()
    call = vars(Block)["__call__"]
    before = jax.tree.map(
        lambda leaf: np.array(jax.random.key_data(leaf) if leaf.dtype.name.startswith("key") else leaf),
        nnx.state(model),
    )
    capture(model, (TOKENS,), seed=4)
    after = jax.tree.map(
        lambda leaf: np.array(jax.random.key_data(leaf) if leaf.dtype.name.startswith("key") else leaf),
        nnx.state(model),
    )
    assert jax.tree.all(jax.tree.map(np.array_equal, before, after))
    assert model.layers[0].dropout.deterministic is False and model.embed.dtype == jnp.float32
    assert vars(Block)["__call__"] is call
    assert "__call__" in vars(nnx.Linear) and "__call__" in vars(nnx.LayerNorm)


def test_a_seed_draws_the_parameters_of_flax_alone():
    model = LanguageModel()
    trace = capture(model, (TOKENS,), seed=4)
    place = list(trace.parameters).index("layers.0.norm.scale")
    drawn = trace.values[trace.parameters["layers.0.norm.scale"]].array
    np.testing.assert_array_equal(drawn, perturbed(np.ones(WIDTH, np.float32), generator_of(4, place)))
    (mean,) = [value.array for value in trace.values if value.name == "batch_norm.mean"]
    np.testing.assert_array_equal(mean, 0)


def test_a_shared_flax_variable_has_aliases():
    model = LanguageModel()
    model.unembed.kernel = nnx.Param(model.embed.embedding.get_value().T)
    model.again = model.embed
    trace = capture(model, (TOKENS,))
    assert trace.values[trace.parameters["again.embedding"]].aliases == ("embed.embedding",)
    assert trace.modules["again"] == "Embed" == trace.modules["embed"]


def test_stock_attention_of_flax_is_read_in_float64():
    class Model(nnx.Module):
        def __init__(self):
            self.attention = nnx.MultiHeadAttention(HEADS, WIDTH, decode=False, rngs=nnx.Rngs(0))

        def __call__(self, x):
            return self.attention(x)

    x = np.random.default_rng(0).normal(size=(2, 11, WIDTH))
    model = Model()
    trace = capture(model, (x,))
    assert trace.dtype == "float64"
    got = trace.values[trace.outputs[0]].array
    weights = {
        name: np.asarray(getattr(model.attention, name).kernel.get_value(), np.float64)
        for name in ("query", "key", "value", "out")
    }
    q, k, v = (np.einsum("ble,ehd->bhld", x, weights[name]) for name in ("query", "key", "value"))
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(WIDTH / HEADS)
    softmax = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    np.testing.assert_allclose(got, np.einsum("bhld,hde->ble", softmax @ v, weights["out"]), rtol=1e-10, atol=1e-12)


class Layer(equinox.Module):
    norm: equinox.nn.LayerNorm
    up: equinox.nn.Linear
    dropout: equinox.nn.Dropout
    depth: int = equinox.field(static=True)

    def __init__(self, depth, *, key):
        self.norm = equinox.nn.LayerNorm(WIDTH)
        self.up = equinox.nn.Linear(WIDTH, WIDTH, key=key)
        self.dropout = equinox.nn.Dropout(0.5)
        self.depth = depth

    def __call__(self, x):
        return x + self.dropout(jnp.tanh(jax.vmap(self.up)(jax.vmap(self.norm)(x))))


class Recurrent(equinox.Module):
    embed: equinox.nn.Embedding
    layers: list[Layer]
    positions: jax.Array

    def __init__(self):
        keys = jax.random.split(jax.random.key(0), 3)
        self.embed = equinox.nn.Embedding(19, WIDTH, key=keys[0])
        self.layers = [Layer(i, key=keys[1 + i]) for i in range(2)]
        self.positions = jnp.sin(jnp.arange(30)[:, None] / 100 ** (jnp.arange(WIDTH) / WIDTH))

    def __call__(self, tokens):
        x = jax.vmap(self.embed)(tokens) + self.positions[: len(tokens)]
        for layer in self.layers:
            x = layer(x)
        return x @ self.embed.weight.T


def test_equinox_outputs_are_the_models_own_to_the_last_bit(assert_in_order):
    model = Recurrent()
    trace = capture(model, (TOKENS[0],))
    assert_in_order(trace)
    # The model made its table of sines in single precision.
    assert (trace.framework, trace.dtype) == ("equinox", "float32")
    with jax.enable_x64(True), jax.disable_jit():
        wide = jax.tree.map(lambda leaf: leaf.astype(jnp.float64) if equinox.is_array(leaf) else leaf, model)
        expected = np.asarray(equinox.nn.inference_mode(wide)(jnp.asarray(TOKENS[0], dtype=jnp.int32)))
    np.testing.assert_array_equal(trace.values[trace.outputs[0]].array, expected)
    assert model.layers[0].dropout.inference is False


def test_equinox_parameters_and_modules_have_paths():
    trace = capture(Recurrent(), (TOKENS[0],), seed=2)
    assert set(trace.parameters) == {
        "embed.weight",
        *(f"layers.{i}.{name}" for i in range(2) for name in ("norm.weight", "norm.bias", "up.weight", "up.bias")),
    }
    (positions,) = [value for value in trace.values if value.origin == "buffer"]
    assert positions.name == "positions"
    np.testing.assert_array_equal(positions.array, np.asarray(Recurrent().positions, np.float64))
    assert trace.modules["layers.1"] == "Layer"
    assert {step.operation for step in parts("layers.1.up", trace)} >= {"dot_general", "add"}
    assert [step.kind for step in parts("embed", trace)].count(Kind.LOOKUP) == 1
    assert trace.values[trace.inputs[0]].name == "tokens"


@pytest.mark.parametrize("framework", ["flax", "equinox"])
def test_a_function_of_a_model_is_a_pair(framework):
    model = LanguageModel() if framework == "flax" else Recurrent()
    function = (lambda model, ids: model(ids) * 2) if framework == "flax" else (lambda model, ids: model(ids[0]) * 2)
    trace = capture((function, model), (TOKENS,))
    assert (trace.framework, trace.values[trace.inputs[0]].name) == (framework, "ids")
    alone = capture(model, (TOKENS,) if framework == "flax" else (TOKENS[0],))
    np.testing.assert_array_equal(trace.values[trace.outputs[0]].array, 2 * alone.values[alone.outputs[0]].array)
    assert {step.module for step in trace.steps} == {step.module for step in alone.steps} | {""}
    assert trace.parameters.keys() == alone.parameters.keys()


def test_a_linen_module_with_its_variables():
    linen = pytest.importorskip("flax.linen")

    class Model(linen.Module):
        @linen.compact
        def __call__(self, tokens):
            x = linen.Embed(19, WIDTH)(tokens)
            return linen.Dense(19, name="head")(linen.Dropout(0.5, deterministic=True)(x))

    model = Model()
    variables = model.init(jax.random.key(0), TOKENS)
    trace = capture((model, variables), (TOKENS,))
    assert {"params.Embed_0.embedding", "params.head.kernel"} <= set(trace.parameters)
    assert "Model.head" in {step.module for step in trace.steps}
    got = trace.values[trace.outputs[0]].array
    np.testing.assert_allclose(got, model.apply(variables, TOKENS), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("compiled", [nnx.jit, jax.jit])
def test_modules_inside_a_compiled_call_have_paths(compiled):
    class Compiled(LanguageModel):
        __call__ = compiled(LanguageModel.__call__)

    plain, trace = capture(LanguageModel(), (TOKENS,)), capture(Compiled(), (TOKENS,))
    assert [step.module for step in trace.steps] == [step.module for step in plain.steps]


KERAS = """
import keras, numpy as np
from keras import layers, ops
from veriformer.adapters.capture.jax import capture

class Block(layers.Layer):
    def __init__(self):
        super().__init__(name="block")
        self.attention = layers.MultiHeadAttention(2, 6, name="attention", dropout=0.5)
        self.norm = layers.LayerNormalization(name="norm")
    def call(self, x):
        return x + self.attention(self.norm(x), self.norm(x), use_causal_mask=True)

class Model(keras.Model):
    def __init__(self):
        super().__init__(name="lm")
        self.embed = layers.Embedding(19, 12, name="embed")
        self.block = Block()
        self.unembed = layers.Dense(19, name="unembed")
    def call(self, tokens):
        return self.unembed(self.block(self.embed(tokens)))

tokens = np.arange(22).reshape(2, 11) % 19
model = Model()
"""


def run_with_keras(script):
    environment = {**os.environ, "KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run([sys.executable, "-c", KERAS + script], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]


keras_installed = pytest.mark.skipif(find_spec("keras") is None, reason="keras is not installed")


@keras_installed
def test_a_keras_model_is_read_in_float64():
    run_with_keras(
        """
trace = capture(model, (tokens,))
assert (trace.framework, trace.dtype) == ("keras", "float64"), trace.dtype
assert trace.modules[""] == "Model" and trace.modules["block.attention.dropout"] == "Dropout"
assert "block.attention.query.kernel" in trace.parameters, list(trace.parameters)
assert trace.modules["block.attention.query"] == "EinsumDense", trace.modules
assert any(step.module == "block.attention.query" and step.operation == "dot_general" for step in trace.steps)
got = trace.values[trace.outputs[0]].array
weights = {name: trace.values[index].array for name, index in trace.parameters.items()}
x = weights["embed.embeddings"][tokens]
y = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-3)
q, k, v = (np.einsum("ble,ehd->bhld", y, weights[f"block.attention.{n}.kernel"]) for n in ("query", "key", "value"))
scores = np.where(np.tri(11, dtype=bool), q @ k.swapaxes(-1, -2) / np.sqrt(6), -np.inf)
soft = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
x = x + np.einsum("bhld,hde->ble", soft @ v, weights["block.attention.attention_output.kernel"])
expected = x @ weights["unembed.kernel"]
assert np.abs(got - expected).max() < 1e-12 * np.abs(expected).max(), np.abs(got - expected).max()
assert np.abs(got - np.asarray(model(tokens))).max() < 1e-5
"""
    )


@keras_installed
@pytest.mark.long
def test_a_keras_model_is_left_as_it_was():
    run_with_keras(
        """
from keras.src.backend.common.dtypes import BIT64_TO_BIT32_DTYPE
model(tokens)
before = [np.array(variable) for variable in model.variables]
trace = capture(model, (tokens,), seed=3)
assert all(np.array_equal(old, new) for old, new in zip(before, model.variables))
assert not np.allclose(trace.values[trace.parameters["block.norm.gamma"]].array, 1)
assert {variable.dtype for variable in model.trainable_variables} == {"float32"}
assert model.block.attention.compute_dtype == "float32" and keras.config.floatx() == "float32"
assert BIT64_TO_BIT32_DTYPE["float64"] == "float32"
assert model(tokens).dtype == "float32"
"""
    )


def test_a_linen_module_that_draws_numbers_unasked_gets_others_at_each_call() -> None:
    linen = pytest.importorskip("flax.linen")
    from veriformer.adapters.capture.linen import initialised

    class Network(linen.Module):
        width: int = 24

        @linen.compact
        def __call__(self, x, deterministic=True):
            hidden = linen.Dropout(0.5)(linen.Dense(self.width)(x), deterministic=not deterministic)
            return linen.Dense(self.width)(hidden)

    found = initialised(Network, [])
    assert found is not None
    apply, variables = found
    x = np.ones((2, 3, 24), dtype=np.float32)
    first, second = (np.asarray(apply(variables, x)) for _ in range(2))
    assert not np.array_equal(first, second)
    assert np.array_equal(*(np.asarray(apply(variables, x, deterministic=False)) for _ in range(2)))
