"""A function of parameters and inputs, with the parameters that another function of its file makes for it."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter
from types import ModuleType
from typing import Any

import numpy as np
from veriformer.adapters.capture.documented_parameters import documented_parameters
from veriformer.adapters.capture.guessed_sizes import guessed_arguments, size_called
from veriformer.adapters.capture.numpy_models import imported_by
from veriformer.adapters.capture.random_state import seeded
from veriformer.adapters.matching.held import FIRST, LISTED, makes_weights
from veriformer.adapters.matching.names import words_of

_KEYS = ("key", "rng", "prngkey", "k")
_GENERATORS = ("rng", "gen", "generator", "rs", "randomstate", "r")
_SEEDS = ("seed",)
_COUNTED = re.compile(r"head|group|kv|layers", re.I)
# So many layers are made where a function takes a list of them.
_LAYERS = 2


def takes_layers(function: Any) -> bool:
    """Return whether one of the first two parameters of a function is a list with the weights of each layer."""
    try:
        names = list(inspect.signature(function).parameters)[:2]
    except (TypeError, ValueError):
        return False
    return any(name.casefold() in LISTED for name in names)


def with_its_parameters(function: Any, home: ModuleType, notes: list[str]) -> Any:
    """Return a function with parameters for it, from what its file makes parameters with; None where nothing does.

    Sizes are guessed by their names, and handed to both. What is documented, and made nowhere, is drawn; a function of
    torch becomes a module then.
    """
    try:
        takes = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None
    known = {*FIRST, *LISTED}
    place = next((place for place, one in enumerate(takes[:2]) if one.name.casefold() in known), None)
    if place is None:
        return None
    maker = _maker(function, home)
    if maker is None:
        return _with_documented(function, takes, place, home, notes)
    arguments = _arguments(maker, home)
    if arguments is None:
        return None
    try:
        with seeded(0):
            listed = takes[place].name.casefold() in LISTED
            parameters = _layers(maker, arguments, home) if listed else maker(**arguments)
    except Exception:
        return None
    if not isinstance(parameters, dict | list | tuple):
        return None
    sizes = {name: value for name, value in arguments.items() if isinstance(value, int | float)}
    others = [one for one in takes if one is not takes[place]]
    bound = {one.name: value for one in others if (value := _size(one, sizes)) is not None}
    made = ", ".join(f"{name} = {value}" for name, value in {**sizes, **bound}.items())
    notes.append(
        f"Its parameters are those that {maker.__name__} makes{f' for {made}' if made else ''}; write "
        f"`def build(): return {function.__name__}, parameters` for others"
    )
    notes += [f"`{one.name}` is {one.default}, as by default" for one in takes if isinstance(one.default, bool)]
    own = _bound(function, bound)
    return (own if place == 0 else _parameters_first(own)), parameters


def _with_documented(function: Any, takes: Sequence[Parameter], place: int, home: ModuleType, notes: list[str]) -> Any:
    """Return a model of parameters of the shapes that a file documents; None where it documents none."""
    found = documented_parameters(function, takes[place].name, home)
    if found is None:
        return None
    parameters, sizes = found
    others = [one for one in takes if one is not takes[place]]
    bound = {one.name: value for one in others if (value := _size(one, sizes)) is not None}
    made = ", ".join(f"{name} = {value}" for name, value in {**sizes, **bound}.items())
    notes.append(f"Its parameters are random numbers of the shapes that its file documents, for {made}")
    own = _bound(function, bound)
    own = own if place == 0 else _parameters_first(own)
    return _module_of(own, parameters) if "torch" in imported_by(home.__name__) else (own, parameters)


def _module_of(function: Any, parameters: Mapping[str, Any]) -> Any:
    """Return a module of torch that hands its parameters to a function, as a dictionary in front of its inputs."""
    from torch import nn

    class OfFunction(nn.Module):  # type: ignore[misc, name-defined, unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.held = nn.ParameterDict(dict(parameters))

    def forward(self: Any, *inputs: Any, **keywords: Any) -> Any:
        return function(dict(self.held.items()), *inputs, **keywords)

    own = list(inspect.signature(function).parameters.values())[1:]
    itself = Parameter("self", Parameter.POSITIONAL_OR_KEYWORD)
    forward.__signature__ = inspect.Signature([itself, *own])  # type: ignore[attr-defined]
    forward.__wrapped__ = inspect.unwrap(function)  # type: ignore[attr-defined]
    OfFunction.forward = forward
    OfFunction.__name__ = OfFunction.__qualname__ = function.__name__
    OfFunction.__module__ = function.__module__
    return OfFunction().eval()


def _parameters_first(function: Any) -> Any:
    """Return a function that takes its second argument first."""
    signature = inspect.signature(function)
    first, second, *others = signature.parameters.values()

    def called(parameters: Any, x: Any, *arguments: Any, **keywords: Any) -> Any:
        return function(x, parameters, *arguments, **keywords)

    by_place = [one.replace(kind=Parameter.POSITIONAL_OR_KEYWORD) for one in (second, first)]
    called.__signature__ = signature.replace(parameters=[*by_place, *others])  # type: ignore[attr-defined]
    called.__name__, called.__module__ = function.__name__, function.__module__
    called.__wrapped__ = function  # type: ignore[attr-defined]
    return called


def _maker(function: Any, home: ModuleType) -> Callable[..., Any] | None:
    """Return what makes the parameters of a function: the last of those that share most words of its name."""
    makers = [
        value
        for name, value in vars(home).items()
        if inspect.isfunction(value) and value.__module__ == home.__name__ and makes_weights(name)
    ]
    own = set(words_of(function.__name__))
    shared = {one: len(own & set(words_of(one.__name__))) for one in makers}
    # The whole stands after its parts.
    return max(reversed(makers), key=shared.__getitem__, default=None)


def _arguments(maker: Callable[..., Any], home: ModuleType) -> dict[str, Any] | None:
    """Return what a function that makes parameters is called with; None where something cannot be guessed."""
    signature = inspect.signature(maker)
    required = [name for name, one in signature.parameters.items() if one.default is Parameter.empty]
    random = {name: value for name in required if (value := _random(name, home)) is not None}
    sizes = guessed_arguments(maker, signature, [name for name in required if name not in random])
    return None if sizes is None else {**random, **sizes}


def _layers(maker: Callable[..., Any], arguments: Mapping[str, Any], home: ModuleType) -> Any:
    """Return the parameters of layers: what makes those of one is called with other random numbers for each."""
    first = maker(**arguments)
    if isinstance(first, list | tuple):
        return first
    others = range(1, _LAYERS)
    changed = ({name: one for name in arguments if (one := _random(name, home, seed)) is not None} for seed in others)
    return [first, *(maker(**{**arguments, **random}) for random in changed)]


def _random(name: str, home: ModuleType, seed: int = 0) -> Any:
    """Return a source of random numbers as the framework of a file has it; None where a name asks for none."""
    folded = name.replace("_", "").casefold()
    if folded in _SEEDS:
        return seed
    if "jax" in imported_by(home.__name__):
        return sys.modules["jax"].random.PRNGKey(seed) if folded in _KEYS else None
    return np.random.default_rng(seed) if folded in _GENERATORS else None


def _size(one: Parameter, sizes: Mapping[str, int | float]) -> int | float | None:
    """Return a size that a function must be told: that of its parameters, or one that is annotated or called so."""
    if one.name in sizes:
        return sizes[one.name]
    if one.default is not Parameter.empty:
        return None
    guessed = size_called(one.name)
    is_number = one.annotation in (int, float, "int", "float") or bool(_COUNTED.search(one.name))
    return guessed if is_number and isinstance(guessed, int | float) else None


def _bound(function: Any, bound: Mapping[str, int | float]) -> Any:
    """Return a function that is handed some of its arguments by name, and takes the others as before."""
    if not bound:
        return function
    signature = inspect.signature(function)
    left = [one for name, one in signature.parameters.items() if name not in bound]

    def called(*arguments: Any, **keywords: Any) -> Any:
        given = called.__signature__.bind(*arguments, **keywords).arguments  # type: ignore[attr-defined]
        flat: dict[str, Any] = {}
        for one in left:
            if one.name in given:
                flat |= given[one.name] if one.kind is Parameter.VAR_KEYWORD else {one.name: given[one.name]}
        return function(**flat, **bound)

    called.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
    called.__name__, called.__module__ = function.__name__, function.__module__
    called.__wrapped__ = function  # type: ignore[attr-defined]
    return called
