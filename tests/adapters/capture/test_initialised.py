"""Functions of parameters and inputs, run with what another function of their file makes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from veriformer.adapters.capture.captured import recorded_pass
from veriformer.adapters.capture.initialised import with_its_parameters
from veriformer.adapters.capture.models import Model, load_model
from veriformer.adapters.errors import NotAModel
from veriformer.adapters.files import load_file

IN_JAX = """
import jax
import jax.numpy as jnp

def init_linear(key, din, dout):
    return jax.random.normal(key, (din, dout)) / din ** 0.5

def init_block(key, dim, heads):
    names = {"q": dim, "k": dim, "v": dim, "o": dim}
    keys = jax.random.split(key, 6)
    p = {name: init_linear(one, dim, dim) for name, one in zip(names, keys)}
    return p | {"up": init_linear(keys[4], dim, 2 * dim), "down": init_linear(keys[5], 2 * dim, dim)}

def norm(x):
    return (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)

def attention_of(p, x, heads):
    q, k, v = (jnp.moveaxis((x @ p[name]).reshape(*x.shape[:2], heads, -1), 2, 1) for name in "qkv")
    weights = jax.nn.softmax(q @ k.mT / q.shape[-1] ** 0.5, axis=-1)
    return jnp.moveaxis(weights @ v, 1, 2).reshape(x.shape) @ p["o"]

def pre_norm_block(p, x{heads}):
    x = x + attention_of(p, norm(x), {value})
    return x + jax.nn.gelu(norm(x) @ p["up"]) @ p["down"]
"""

IN_NUMPY = """
import numpy as np

def init_network(dim, hidden, rng, n_heads=3):
    up, down = rng.normal(size=(dim, hidden)), rng.normal(size=(hidden, dim))
    return {"up": up / dim ** 0.5, "down": down / hidden ** 0.5}

def network(params, x):
    return x + np.maximum(x @ params["up"], 0) @ params["down"]

def init_norm(dim):
    return {"gain": np.ones(dim), "shift": np.zeros(dim)}
"""


@pytest.fixture
def file(tmp_path: Path) -> Callable[[str], str]:
    def written(text: str) -> str:
        place = tmp_path / "mine.py"
        place.write_text(text)
        return str(place)

    return written


def in_jax(heads: str = "", value: str = "4") -> str:
    return IN_JAX.replace("{heads}", heads).replace("{value}", value)


def shapes(model: Model) -> dict[str, tuple[int, ...]]:
    return {name: one.shape for name, one in model.found[1].items()}


def test_a_block_of_jax_runs_with_what_its_file_makes(file):
    pytest.importorskip("jax")
    model = load_model(f"{file(in_jax())}:pre_norm_block")
    assert model.framework == "jax"
    assert shapes(model) == {**dict.fromkeys("qkvo", (24, 24)), "up": (24, 48), "down": (48, 24)}
    (note,) = model.notes
    assert note == (
        "Its parameters are those that init_block makes for dim = 24, heads = 4; write "
        "`def build(): return pre_norm_block, parameters` for others"
    )
    trace = recorded_pass(model, seed=0).trace
    assert [trace.values[index].array.shape[-1] for index in trace.inputs] == [24]
    assert len(trace.parameters) == 6


def test_a_block_of_numpy_runs_with_what_its_file_makes(file):
    model = load_model(f"{file(IN_NUMPY)}:network")
    assert model.framework == "numpy"
    assert shapes(model) == {"up": (24, 40), "down": (40, 24)}
    assert "init_network makes for dim = 24, hidden = 40" in model.notes[0]
    trace = recorded_pass(model, seed=0).trace
    assert sorted(trace.parameters) == ["down", "up"]
    assert trace.values[trace.outputs[0]].array.shape == trace.values[trace.inputs[0]].array.shape


@pytest.mark.parametrize("heads", (", heads", ", heads, mask=None", ", *, heads: int"))
def test_a_size_that_both_take_is_handed_to_both(file, heads):
    jax = pytest.importorskip("jax")
    model = load_model(f"{file(in_jax(heads, 'heads'))}:pre_norm_block")
    function, parameters = model.found
    x = jax.numpy.asarray(np.random.default_rng(0).normal(size=(2, 5, 24)))
    home = load_file(str(file(in_jax(heads, "heads"))))[0]
    with jax.default_matmul_precision("float32"):
        expected = home.pre_norm_block(parameters, x, heads=4)
        np.testing.assert_array_equal(function(parameters, x), expected)
        np.testing.assert_array_equal(function(p=parameters, x=x), expected)
    assert not np.allclose(home.pre_norm_block(parameters, x, heads=2), expected)
    assert "heads = 4" in model.notes[0]


def test_a_function_keeps_its_other_arguments(file):
    text = IN_NUMPY.replace("network(params, x)", "network(params, x, n_heads, *rest, scale=2, **more)")
    text = text.replace("rng, n_heads=3", "n_heads, rng").replace("x + np", "(scale, n_heads, rest, more, x) or np")
    notes: list[str] = []
    home = load_file(file(text))[0]
    function, parameters = with_its_parameters(home.network, home, notes)
    assert function(parameters, "x", scale=5, other=6)[:4] == (5, 4, (), {"other": 6})
    assert function(parameters, "x")[0] == 2
    assert "n_heads = 4" in notes[0]


@pytest.mark.parametrize(
    "text",
    (
        pytest.param(IN_NUMPY.replace("def init_", "def _of_"), id="nothing makes parameters"),
        pytest.param(IN_NUMPY.replace("network(params", "network(y"), id="it takes no parameters"),
        pytest.param(IN_NUMPY.replace("rng, n_heads=3", "rng, spokes"), id="a size cannot be guessed"),
        pytest.param(IN_NUMPY.replace("up, down =", "up, down, missing ="), id="the maker raises"),
        pytest.param(IN_NUMPY.replace('return {"up"', 'return 3 or {"up"'), id="the maker makes no parameters"),
    ),
)
def test_nothing_is_made_where(file, text):
    home, notes = load_file(file(text))[0], []
    assert with_its_parameters(home.network, home, notes) is None
    assert notes == []


def test_a_maker_of_another_name_is_taken_where_it_stands_last(file):
    home = load_file(file(IN_NUMPY.replace("def init_network", "def init_model")))[0]
    assert set(with_its_parameters(home.network, home, [])[1]) == {"gain", "shift"}


def test_a_function_of_parameters_without_a_maker_is_no_model(file):
    with pytest.raises(NotAModel, match="network"):
        load_model(f"{file(IN_NUMPY.replace('def init_', 'def _of_'))}:network")


def test_a_file_with_a_maker_is_found_by_its_functions_of_parameters(file):
    from veriformer.adapters.matching.classes import classes_in

    assert classes_in(file(IN_NUMPY)) == (["network"], [])
    assert classes_in(file(in_jax())) == (["pre_norm_block"], [])
    assert classes_in(file(IN_NUMPY.replace("def init_", "def _of_"))) == ([], [])


LAYER = """
import numpy as np

def layer_norm(x):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)

def encoder_layer(x, P, norm_first=False):
    if norm_first:
        return x + np.maximum(layer_norm(x) @ P["W1"], 0) @ P["W2"]
    return layer_norm(x + np.maximum(x @ P["W1"], 0) @ P["W2"])

def random_params(C, F, seed=0):
    r = np.random.default_rng(seed)
    return {"W1": r.normal(size=(C, F)) / C ** 0.5, "W2": r.normal(size=(F, C)) / F ** 0.5}
"""


def test_parameters_may_come_after_the_input_of_a_layer(file):
    from veriformer.adapters.matching.classes import classes_in

    place = file(LAYER)
    model = load_model(f"{place}:encoder_layer")
    assert shapes(model) == {"W1": (24, 40), "W2": (40, 24)}
    assert "`norm_first` is False, as by default" in model.notes
    trace = recorded_pass(model, seed=0).trace
    assert sorted(trace.parameters) == ["W1", "W2"]
    assert classes_in(place) == (["encoder_layer"], [])
