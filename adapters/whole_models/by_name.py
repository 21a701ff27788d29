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

    stage.call = call  # type: ignore[assignment, method-assign]
    stage.called, stage.first_input = _called(stage.called, tuple(given)), 0
    return (), given


def _is_input(name: object, value: object) -> bool:
    return isinstance(name, str) and name.isidentifier() and is_array(value)


def _called(whole: Any, names: tuple[str, ...]) -> Any:
    """Return what names the inputs in its signature, with the text of what is called with all of them."""

    def named(**_: Any) -> None:
        raise TypeError("it only names the inputs of a model")

    parameters = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in names]
    named.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    named.__wrapped__ = whole  # type: ignore[attr-defined]
    named.__module__, named.__doc__ = _module_of(whole), inspect.getdoc(whole)
    return named


def _module_of(whole: Any) -> str:
    own = whole if inspect.isroutine(whole) or isinstance(whole, type) else type(whole)
    return str(getattr(own, "__module__", __name__))
