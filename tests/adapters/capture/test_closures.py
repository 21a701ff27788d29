"""Functions that carry arrays with them: as a pair of a function of these and of its inputs, they are models."""

from __future__ import annotations

import functools
import inspect
from types import SimpleNamespace

import numpy as np
import pytest
from veriformer.adapters.capture.captured import recorded_pass
from veriformer.adapters.capture.closures import pair_of_closure
from veriformer.adapters.capture.models import load_model

WIDTH, HEADS = 8, 2
X = np.random.default_rng(1).normal(size=(2, 5, WIDTH))


def parameters(factor=1.0):
    draw = np.random.default_rng(0)
    return {name: factor * draw.normal(size=(WIDTH, WIDTH)) for name in ("q", "k", "v", "o")}


def attend(p, x, heads):
    q, k, v = ((x @ p[name]).reshape(*x.shape[:2], heads, -1).swapaxes(1, 2) for name in "qkv")
    logits = q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5
    weights = np.exp(logits - logits.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return (weights @ v).swapaxes(1, 2).reshape(x.shape) @ p["o"]


def closed(p, config):
    def model(x, *, factor=1.0, causal=False):
        assert causal is False
        return factor * attend(p, x, config.heads)

    return model


def nested(p, config):
    def heads_of(x, name):
        return (x @ p[name]).reshape(*x.shape[:2], config.heads, -1).swapaxes(1, 2)

    def attention(x):
        logits = heads_of(x, "q") @ heads_of(x, "k").swapaxes(-1, -2)
        return (logits @ heads_of(x, "v")).swapaxes(1, 2).reshape(x.shape) @ p["o"]

    def model(x):
        return x + attention(x)

    return model


def partial(p, config):
    return functools.partial(attend, p, heads=config.heads)


CONFIG = SimpleNamespace(heads=HEADS)


@pytest.mark.parametrize(
    ("make", "carried"),
    (
        (closed, {"p", "config"}),
        (nested, {"attention.p", "attention.heads_of.p", "attention.heads_of.config"}),
        (partial, {"0", "heads"}),
    ),
)
def test_what_a_function_carries_is_what_its_pair_holds(make, carried):
    function, held = pair_of_closure(make(parameters(), CONFIG))
    assert set(held) == carried
    np.testing.assert_array_equal(function(held, X), make(parameters(), CONFIG)(X))


@pytest.mark.parametrize("make", (closed, nested, partial))
def test_other_arrays_take_the_places_of_those_that_are_carried(make):
    original = make(parameters(), CONFIG)
    before = original(X)
    function, held = pair_of_closure(original)
    others = {name: parameters(2.0) if isinstance(one, dict) else one for name, one in held.items()}
    np.testing.assert_array_equal(function(others, X), make(parameters(2.0), CONFIG)(X))
    np.testing.assert_array_equal(original(X), before)
    assert not np.allclose(function(others, X), before)


def test_default_and_keyword_arguments_are_kept():
    original = closed(parameters(), CONFIG)
    function, held = pair_of_closure(original)
    np.testing.assert_array_equal(function(held, X, factor=3.0), original(X, factor=3.0))
    np.testing.assert_array_equal(function(held, x=X), original(X))
    first, *own = inspect.signature(function).parameters.values()
    assert own == list(inspect.signature(original).parameters.values())
    assert first.kind is first.POSITIONAL_ONLY

    def positional(x, scale=2.0):
        return scale * (x @ held["p"]["q"])

    function, held_by_it = pair_of_closure(positional)
    np.testing.assert_array_equal(function(held_by_it, X), 2.0 * (X @ held["p"]["q"]))


def test_a_partial_keeps_arguments_that_are_given_by_position_and_by_name():
    def model(p, scale, x, *, shift):
        return scale * (x @ p["q"]) + shift

    function, held = pair_of_closure(functools.partial(functools.partial(model, parameters(), 3.0), shift=1.0))
    np.testing.assert_array_equal(function(held, X), 3.0 * (X @ parameters()["q"]) + 1.0)
    np.testing.assert_array_equal(function(held, X, shift=5.0), 3.0 * (X @ parameters()["q"]) + 5.0)
    assert list(inspect.signature(function).parameters)[1:] == ["x", "shift"]


def test_a_function_may_call_itself():
    p = parameters()

    def model(x, times=2):
        return x if times == 0 else model(x @ p["q"], times - 1)

    function, held = pair_of_closure(model)
    assert set(held) == {"p"}
    np.testing.assert_array_equal(function({"p": parameters(4.0)}, X), 16.0 * model(X))


def test_a_helper_that_is_reached_in_two_ways_carries_its_arrays_once():
    p = parameters()

    def mapped(x):
        return x @ p["q"]

    def twice(x):
        return mapped(mapped(x))

    def model(x):
        return mapped(twice(x))

    function, held = pair_of_closure(model)
    assert set(held) == {"mapped.p"}
    np.testing.assert_array_equal(function({"mapped.p": parameters(2.0)}, X), 8.0 * model(X))


def test_a_cell_that_is_empty_stays_so():
    def made():
        p = parameters()

        def model(x):
            return x @ p["q"] if x is not None else later

        if not p:
            later = 1
        return model

    function, held = pair_of_closure(made())
    assert set(held) == {"p"}
    np.testing.assert_array_equal(function(held, X), X @ parameters()["q"])
    with pytest.raises(NameError, match="later"):
        function(held, None)


@pytest.mark.parametrize("function", (attend, np.exp, functools.partial(attend)))
def test_a_function_that_carries_nothing_is_no_pair(function):
    assert pair_of_closure(function) is None


TEXT = """
import functools
import numpy as np

def attend(p, x, heads):
    q, k, v = ((x @ p[name]).reshape(*x.shape[:2], heads, -1).swapaxes(1, 2) for name in "qkv")
    logits = q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5
    weights = np.exp(logits - logits.max(-1, keepdims=True))
    return ((weights / weights.sum(-1, keepdims=True)) @ v).swapaxes(1, 2).reshape(x.shape) @ p["o"]

def parameters():
    draw = np.random.default_rng(0)
    return {name: draw.normal(size=(12, 12)) / 12 ** 0.5 for name in "qkvo"}

def closed():
    p, config = parameters(), {"heads": 3}
    def model(x):
        return x + attend(p, x, config["heads"])
    return model

def partial():
    return functools.partial(attend, parameters(), heads=3)
"""


@pytest.mark.parametrize("name", ("closed", "partial"))
def test_a_function_of_numpy_that_carries_its_arrays_is_recorded(tmp_path, name):
    (tmp_path / "mine.py").write_text(TEXT)
    model = load_model(f"{tmp_path / 'mine.py'}:{name}")
    assert model.framework == "numpy"
    trace = recorded_pass(model, seed=0).trace
    assert sorted(one[-1] for one in trace.parameters) == ["k", "o", "q", "v"]
    assert [trace.values[index].array.shape[-1] for index in trace.inputs] == [12]
