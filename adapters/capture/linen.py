"""Flax Linen modules without parameters: they are given random ones, on inputs that are guessed."""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from veriformer.adapters.capture.guessed_sizes import WIDTH, guessed_arguments, words_of_guesses
from veriformer.adapters.capture.handed_over import arguments_in

_BATCH, _LENGTH, _OTHER_LENGTH = 2, 11, 7
# Tokens below the smallest vocabulary that a size is guessed to be.
_TOKENS = 8
# Images, where nothing else is taken.
_SIDES, _COLOURS = (32, 28, 16, 224), (3, 1)


def initialised(found: Any, notes: list[str], given: Any = None) -> tuple[Callable[..., Any], Any] | None:
    """Return a function of parameters and inputs, and random parameters; None where no guess builds a Linen module.

    `found` is a module or its class, and one that is bound to parameters keeps them. `given` are the inputs that stand
    in its file; what was guessed is added to `notes`.
    """
    if not isinstance(found, type) and getattr(found, "scope", None) is not None:
        module, variables = found.unbind()
        return applied(module), variables
    module = _built(found, notes) if isinstance(found, type) else found
    if module is None:
        return None
    for inputs, words in (*_handed_over(given), *((one, "that were guessed") for one in _inputs(module))):
        variables = _variables(module, inputs)
        if variables is not None:
            notes.append(f"{type(module).__name__} was initialised with jax.random.key(0), on inputs {words}")
            return applied(module), variables
    return None


def _handed_over(given: Any) -> list[tuple[Any, str]]:
    if given is None:
        return []
    arguments, keywords = arguments_in(given)
    return [((*arguments, *keywords.values()), "of its file")]


def _built(kind: type, notes: list[str]) -> Any:
    signature = inspect.signature(kind)
    required = [name for name, one in signature.parameters.items() if one.default is one.empty]
    guesses = guessed_arguments(kind, signature, required)
    if guesses is None:
        return None
    try:
        module = kind(**guesses)
    except Exception:
        return None
    if guesses:
        notes.append(words_of_guesses(kind.__name__, guesses))
    return module


def _inputs(module: Any) -> Iterator[tuple[np.ndarray, ...]]:
    """Yield inputs to initialise a module on: vectors, which no table of tokens takes, before tokens."""
    number = max(len(_required_inputs(module)), 1)
    numbers = np.random.default_rng(0)
    lengths = (_LENGTH, *(_OTHER_LENGTH,) * (number - 1))
    yield tuple(numbers.standard_normal((_BATCH, length, WIDTH)).astype(np.float32) for length in lengths)
    yield tuple(numbers.integers(0, _TOKENS, (_BATCH, length)).astype(np.int32) for length in lengths)
    for side, colours in itertools.product(_SIDES, _COLOURS) if number == 1 else ():
        yield (numbers.standard_normal((_BATCH, side, side, colours)).astype(np.float32),)


def _required_inputs(module: Any) -> list[str]:
    parameters = inspect.signature(type(module).__call__).parameters.values()
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [one.name for one in list(parameters)[1:] if one.default is one.empty and one.kind not in kinds]


def _variables(module: Any, inputs: tuple[np.ndarray, ...]) -> Any:
    import jax

    try:
        return module.init({"params": jax.random.key(0), "dropout": jax.random.key(1)}, *inputs)
    except Exception:
        return None


def applied(module: Any) -> Callable[..., Any]:
    """Return a module's `apply` with the names of its own inputs."""
    import jax
    from flax import errors

    own = inspect.signature(type(module).__call__)
    first = inspect.Parameter("variables", inspect.Parameter.POSITIONAL_ONLY)
    inputs = [one.replace(annotation=one.empty) for one in list(own.parameters.values())[1:]]

    calls = itertools.count(2)

    @functools.wraps(module.apply)
    def apply(*arguments: Any, **keywords: Any) -> Any:
        try:
            return module.apply(*arguments, **keywords)
        except errors.InvalidRngError:
            # It draws numbers though nothing asks it to: it gets others each time, as in use.
            return module.apply(*arguments, rngs={"dropout": jax.random.key(next(calls))}, **keywords)

    apply.__signature__ = own.replace(parameters=[first, *inputs])  # type: ignore[attr-defined]
    # What reads the source of this function reads the module's.
    apply.__wrapped__ = type(module).__call__
    return apply
