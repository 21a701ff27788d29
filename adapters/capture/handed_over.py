"""The inputs that a user hands over, as arguments: `inputs()` in its file, an array, a tuple, or a dictionary."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np
from veriformer.adapters.capture.random_state import seeded
from veriformer.adapters.errors import CaptureError, describe
from veriformer.adapters.import_errors import location

Arguments = tuple[tuple[Any, ...], dict[str, Any]]

_WHAT = "an array, a tuple of arrays, or a dictionary of them by argument"


def arguments_in(received: Any) -> Arguments:
    """Return what `inputs()` returns, or is, as positional arguments and keywords; CaptureError for anything else.

    A tuple is positional, a dictionary by keyword; both together are ((…), {…}).
    """
    if inspect.isroutine(received) or inspect.isfunction(received):
        received = _called(received)
    if isinstance(received, Mapping):
        return (), _keywords(received)
    if not isinstance(received, tuple | list):
        _require_array(received)
        return (received,), {}
    if len(received) == 2 and isinstance(received[0], tuple | list) and isinstance(received[1], Mapping):
        _require_some_array((*received[0], *received[1].values()))
        return tuple(received[0]), dict(received[1])
    return _positional(received), {}


def _called(function: Any) -> Any:
    try:
        with seeded(0):
            return function()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise CaptureError(
            f"inputs() raised {describe(error)}{location(error)}; correct it to return {_WHAT}"
        ) from error


def _keywords(received: Mapping[Any, Any]) -> dict[str, Any]:
    keywords = dict(received)
    for name in keywords:
        if not isinstance(name, str):
            raise CaptureError(f"inputs() returned a dictionary with the key {name!r}; the keys are names of arguments")
    _require_some_array(tuple(keywords.values()))
    return keywords


def _positional(received: tuple[Any, ...] | list[Any]) -> tuple[Any, ...]:
    if received and all(isinstance(one, int | float) for one in received):
        raise CaptureError(f"inputs() returned a {type(received).__name__} of numbers; return {_WHAT}")
    _require_some_array(tuple(received))
    return tuple(received)


def _require_some_array(values: tuple[Any, ...]) -> None:
    if not any(is_array(leaf) for value in values for leaf in _leaves(value)):
        kinds = ", ".join(dict.fromkeys(type(value).__name__ for value in values)) or "nothing"
        raise CaptureError(f"inputs() returned no array but {kinds}; return {_WHAT}")


def _require_array(value: Any) -> None:
    if not is_array(value):
        raise CaptureError(f"inputs() returned a {type(value).__name__}; return {_WHAT}")


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, Mapping):
        return [leaf for one in value.values() for leaf in _leaves(one)]
    if isinstance(value, tuple | list):
        return [leaf for one in value for leaf in _leaves(one)]
    return [value]


def is_array(value: Any) -> bool:
    """Return whether a value is an array of NumPy or of a framework."""
    return isinstance(value, np.ndarray | np.generic) or (hasattr(value, "shape") and hasattr(value, "dtype"))
