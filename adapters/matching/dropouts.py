"""Dropout as people write it: with a key, a generator, a seed or the global generator, and a flag for training."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from veriformer.adapters.arrays import ArrayFramework
from veriformer.adapters.errors import describe
from veriformer.adapters.matching.layouts import Arguments
from veriformer.adapters.matching.names import parameters_of, words_of
from veriformer.adapters.matching.search import Found
from veriformer.adapters.matching.wired import Wired, roles_of

DROPOUT = "dropout"
_NAMES: Mapping[str, str] = {
    "x": "x input inputs tensor h hidden activations a value values z inp arr array",
    "rate": "rate p dropoutrate dropprob pdrop dropout droprate dropoutp dropoutprob prob drop dropp probability",
    "keep": "keepprob keep keeprate pkeep keepprobability retainprob",
    "random": "key rng prngkey prng rngkey generator gen seed rs randomstate k",
    "training": "training train istraining istrain trainmode",
    "evaluation": "deterministic inference eval evaluation iseval evaluate testmode",
}
_FLAGS = ("training", "evaluation")
# Which drop something else than single entries.
_OTHERWISE = {"path", "layer", "token", "block"}


def operations(function: Any, name: str) -> Iterator[str]:
    """Yield the operation where a function is called dropout, and takes vectors and a rate."""
    roles = roles_of(_NAMES, [one.name for one in parameters_of(function) or []])
    words = {*words_of(name)}
    named = words & {"dropout", "drop"} and not words & _OTHERWISE
    if named and not isinstance(function, type) and "x" in roles and ("rate" in roles or "keep" in roles):
        yield DROPOUT


def form_of(function: Callable[..., Any], framework: ArrayFramework) -> tuple[Found | None, str]:
    """Return the form in which a function is dropout; None with the reason where it is not called like it."""
    takings = parameters_of(function) or []
    roles = roles_of(_NAMES, [one.name for one in takings])
    unknown = [one.name for one in takings if not one.has_default and one.name not in roles.values()]
    if unknown:
        return None, f"nothing is {' or '.join(unknown)}"
    drawn = framework.from_numpy(np.ones((7, 5)), "float32")
    failure = ""
    for words, source in _sources(roles, framework.name):
        flag = any(role in roles for role in _FLAGS)
        form = Wired(
            DROPOUT,
            {},
            wiring=partial(_called, roles, source),
            features=("training",) if flag else (),
            words=(words,) if words else (),
        )
        try:
            result = framework.call(
                lambda *_, form=form: form.called(function, {"x": drawn, "rate": 0.5, "seed": 3}), (), {}
            )
            numbers = framework.to_numpy(result)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            failure = failure or describe(error)
            continue
        if numbers.shape != (7, 5):
            failure = failure or f"its result has the shape {numbers.shape}"
            continue
        return Found(form, bool(np.isin(numbers, (0.0, 2.0)).all())), ""
    return None, failure


def _sources(roles: Mapping[str, str], framework: str) -> Iterator[tuple[str, Callable[[int], Any]]]:
    """Yield what is handed over for the random numbers of a seed, the likeliest first."""
    name = roles.get("random")
    if name is None:
        yield "its random numbers are those of the global generator", _seeded_globally
        return
    if framework == "jax":
        yield f"`{name}`: a key of JAX", _key
    if framework == "torch":
        yield f"`{name}`: a generator of torch", _torch_generator
    if "seed" not in name:
        yield f"`{name}`: a generator of NumPy", np.random.default_rng
        yield f"`{name}`: a RandomState of NumPy", np.random.RandomState
    yield f"`{name}`: the seed", int


def _key(seed: int) -> Any:
    return sys.modules["jax"].random.PRNGKey(seed)


def _torch_generator(seed: int) -> Any:
    return sys.modules["torch"].Generator().manual_seed(seed)


def _seeded_globally(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.manual_seed(seed)


def _called(
    roles: Mapping[str, str], source: Callable[[int], Any], function: Callable[..., Any], given: Arguments
) -> Any:
    rate = float(given["rate"])
    arguments: dict[str, Any] = {roles["x"]: given["x"]}
    arguments[roles["rate"] if "rate" in roles else roles["keep"]] = rate if "rate" in roles else 1.0 - rate
    drawn = source(int(given["seed"]))
    if "random" in roles:
        arguments[roles["random"]] = drawn
    training = given.get("training")
    training = True if training is None else bool(training)
    if "training" in roles:
        arguments[roles["training"]] = training
    if "evaluation" in roles:
        arguments[roles["evaluation"]] = not training
    returned = function(**arguments)
    # The mask may come with it.
    return returned[0] if isinstance(returned, tuple | list) else returned
