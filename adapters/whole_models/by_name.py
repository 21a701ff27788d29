"""Models that take all their inputs as one dictionary, called with each of them by its name."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from veriformer.adapters.capture.handed_over import Arguments, is_array
from veriformer.adapters.whole_models.stage import Stage


def with_names(stage: Stage, arguments: Arguments) -> Arguments:
    """Return the arguments by name where they are one dictionary of arrays, and let the stage be called so.

    A functional model of Keras with a dictionary of inputs, or `forward(batch)`, is called with such a one.
    """
    positional, keywords = arguments
    whole = positional[0] if len(positional) == 1 and not keywords else None
    if not isinstance(whole, Mapping) or not whole or not all(_is_input(*one) for one in whole.items()):
        return arguments
    given = dict(whole)
    with_one = stage.call

    def call(_: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
        return with_one((dict(named),), {})

    stage.call = call  # type: ignore[method-assign]
    stage.called, stage.first_input = _Called(tuple(given)), 0
    return (), given


def _is_input(name: object, value: object) -> bool:
    return isinstance(name, str) and name.isidentifier() and is_array(value)


class _Called:
    """What names the inputs: a signature with a keyword for each."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.__signature__ = inspect.Signature(
            [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in names]
        )

    def __call__(self, **_: Any) -> None:
        raise TypeError("it only names the inputs of a model")
