"""Dropout with a key, a generator, a seed or the global one is judged as such: right ones hold, wrong ones do not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from veriformer.adapters.errors import NoOperations
from veriformer.adapters.implementation import Implementation
from veriformer.adapters.matching.dropouts import operations
from veriformer.conformance_tests import check

Loaded = Callable[..., Implementation]

# The name of each says where its random numbers come from; `{kept}` is what is returned of what is kept.
KEY_FIRST = """
import jax
import jax.numpy as jnp

def dropout(key, x, rate, deterministic=False):
    if deterministic or rate == 0.0:
        return x
    keep = 1.0 - rate
    mask = jax.random.bernoulli(key, keep, x.shape)
    return jnp.where(mask, {kept}, 0.0)
"""
KEY_SECOND = """
import jax
import jax.numpy as jnp

def dropout(x, rng, drop_rate=0.1, training=True):
    if not training:
        return x
    keep = 1.0 - drop_rate
    return jax.random.bernoulli(rng, keep, x.shape) * {kept}
"""
GENERATOR = """
import numpy as np

def dropout(x, p, rng, training=True):
    if not training or p == 0:
        return x
    keep = 1.0 - p
    return np.where(rng.random(x.shape) < keep, {kept}, 0.0).astype(x.dtype)
"""
RANDOM_STATE = """
import numpy as np

def dropout(x, p, random_state):
    keep = 1.0 - p
    return np.where(random_state.rand(*x.shape) < keep, {kept}, 0.0).astype(x.dtype)
"""
SEED = """
import numpy as np

def inverted_dropout(x, dropout_prob, seed, is_training=True):
    keep = 1.0 - dropout_prob
    if not is_training:
        return x
    return np.where(np.random.default_rng(seed).random(x.shape) < keep, {kept}, 0.0).astype(x.dtype)
"""
MASK_TOO = """
import numpy as np

def dropout_forward(x, keep_prob, seed):
    keep = keep_prob
    mask = np.random.default_rng(seed).random(x.shape) < keep
    return (mask * {kept}).astype(x.dtype), mask
"""
GLOBAL = """
import torch

def dropout(x, p=0.5, training=True):
    if not training:
        return x
    keep = 1.0 - p
    return torch.where(torch.rand(x.shape) < keep, {kept}, torch.zeros(()))
"""
WAYS = [
    pytest.param("jax", KEY_FIRST, "`key`: a key of JAX", id="key first"),
    pytest.param("jax", KEY_SECOND, "`rng`: a key of JAX", id="key second"),
    pytest.param("numpy", GENERATOR, "`rng`: a generator of NumPy", id="generator"),
    pytest.param("numpy", RANDOM_STATE, "`random_state`: a RandomState of NumPy", id="random state"),
    pytest.param("numpy", SEED, "`seed`: the seed", id="seed"),
    pytest.param("numpy", MASK_TOO, "`seed`: the seed", id="keep_prob, and the mask returned"),
    pytest.param("torch", GLOBAL, "its random numbers are those of the global generator", id="global generator"),
]


@pytest.mark.parametrize(("framework", "text", "words"), WAYS)
def test_a_right_one_holds(loaded: Loaded, framework: str, text: str, words: str) -> None:
    pytest.importorskip(framework)
    found = loaded(text.format(kept="x / keep"))
    assert (found.framework.name, set(found.taken_as.values())) == (framework, {"dropout"})
    assert words in found.notices[0]
    report = check(found, tier="quick")
    assert report.verdict == "conforms", report.headline
    assert report.counts["passed"] > 3


@pytest.mark.parametrize("kept", ["x", "x / (1 - keep)"])
@pytest.mark.parametrize(("framework", "text", "words"), WAYS)
def test_one_that_keeps_no_mean_does_not(loaded: Loaded, framework: str, text: str, words: str, kept: str) -> None:
    pytest.importorskip(framework)
    found = loaded(text.format(kept=kept))
    assert words in found.notices[0]
    assert check(found, laws="dropout.value", tier="quick", diagnosis=False, fail_fast=True).verdict == "violates"


@pytest.mark.parametrize("flag", ["deterministic", "inference", "training", "is_training"])
@pytest.mark.parametrize("obeyed", [True, False])
def test_a_flag_is_obeyed_whatever_it_is_called(loaded: Loaded, flag: str, *, obeyed: bool) -> None:
    trains = flag.endswith("training")
    given = GENERATOR.format(kept="x / keep").replace("training=True", f"{flag}={trains}")
    condition = f"not {flag}" if trains else flag
    text = given.replace("if not training or p", f"if {condition} or p" if obeyed else "if p")
    report = check(loaded(text), laws="dropout.evaluation", tier="quick", diagnosis=False)
    assert report.verdict == ("conforms" if obeyed else "violates")


def test_without_a_flag_evaluation_is_not_judged(loaded: Loaded) -> None:
    found = loaded(RANDOM_STATE.format(kept="x / keep"))
    assert [one.status for one in check(found, laws="dropout.evaluation").results] == ["not_declared"]


def test_one_seed_for_all_calls_is_no_seed(loaded: Loaded) -> None:
    found = loaded(SEED.format(kept="x / keep").replace("default_rng(seed)", "default_rng(0)"))
    assert check(found, laws="dropout.seed.other", tier="quick", diagnosis=False).verdict == "violates"


DROP_PATH = """
import numpy as np

def {name}(x, drop_prob=0.0, training=False):
    if drop_prob == 0.0 or not training:
        return x
    keep = 1.0 - drop_prob
    kept = np.random.rand(x.shape[0], *[1] * (x.ndim - 1)) < keep
    return (x / keep * kept).astype(x.dtype)

def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)
"""


@pytest.mark.parametrize("name", ["drop_path", "dropPath", "DropBlock", "drop_layer", "token_dropout", "dropout_path"])
def test_what_drops_more_than_numbers_is_no_dropout(loaded: Loaded, name: str) -> None:
    """The same function is taken if it is called dropout."""
    assert "dropout" not in loaded(DROP_PATH.format(name=name)).taken_as.values()
    assert loaded(DROP_PATH.format(name="dropout_rows")).taken_as["dropout_rows"] == "dropout"


def _of_class(x, rate):
    """Return what stands for a function of a dropout's parameters."""


@pytest.mark.parametrize(
    ("function", "name", "is_one"),
    [
        (_of_class, "dropout", True),
        (_of_class, "my_dropout", True),
        (_of_class, "attend", False),
        (lambda x, seed: x, "dropout", False),
        (lambda p, rng: p, "dropout", False),
        (type("Dropout", (), {"__init__": lambda self, x, p: None}), "Dropout", False),
    ],
)
def test_it_is_told_by_its_name_and_its_parameters(function: object, name: str, *, is_one: bool) -> None:
    assert bool(list(operations(function, name))) == is_one


def test_one_written_to_the_interface_stays_as_it_is(loaded: Loaded) -> None:
    text = """
import numpy as np

def dropout(x, rate, seed, *, training=True):
    if not training or rate == 0:
        return x
    kept = np.random.default_rng(seed).random(x.shape) >= rate
    return np.where(kept, x / (1 - rate), 0.0).astype(x.dtype)
"""
    found = loaded(text)
    assert found.taken_as == {} and found.notices == ()
    assert check(found, tier="quick").verdict == "conforms"


def test_a_parameter_that_nothing_is_known_for_is_said(loaded: Loaded) -> None:
    with pytest.raises(NoOperations, match="my_dropout: as dropout, nothing is where"):
        loaded("def my_dropout(x, p, where):\n    return x * where / (1 - p)\n")
