"""The arrays of what a model returns, and which of them is its result: the logits, or the vectors of the last layer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from types import SimpleNamespace
from typing import Any

# By name, where a model returns several things.
_NAMES = ("logits", "last_hidden_state")


def named_arrays(returned: Any, is_array: Callable[[Any], bool], name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the arrays of what a model returns, with the name under which a record or mapping has each."""
    if is_array(returned):
        yield name, returned
    elif isinstance(returned, Mapping):
        for key, value in returned.items():
            yield from named_arrays(value, is_array, str(key))
    elif is_dataclass(returned) and not isinstance(returned, type):
        for one in fields(returned):
            yield from named_arrays(getattr(returned, one.name), is_array, one.name)
    elif isinstance(returned, tuple | list):
        names = getattr(returned, "_fields", ("",) * len(returned))
        for key, value in zip(names, returned, strict=False):
            yield from named_arrays(value, is_array, key or name)
    elif isinstance(returned, SimpleNamespace) or any(hasattr(returned, one) for one in _NAMES):
        # An object that only holds results. One that is handed on, such as a cache, is none.
        for key, value in getattr(returned, "__dict__", {}).items():
            yield from named_arrays(value, is_array, key)


def arrays_of(leaves: Iterable[Any], is_array: Callable[[Any], bool]) -> list[Any]:
    """Return the arrays among the leaves of what a model returns; a record of no registered kind is one leaf."""
    return [array for leaf in leaves for _, array in named_arrays(leaf, is_array)]


def result_of(returned: Any, is_array: Callable[[Any], bool], fits: Callable[[Any], bool]) -> Any:
    """Return the array that is the result: the one called logits, else the first that fits, else the first of all.

    None where there is no array.
    """
    arrays = [(name, array) for name, array in named_arrays(returned, is_array) if getattr(array, "ndim", 0)]
    for wanted in _NAMES:
        for name, array in arrays:
            if name == wanted:
                return array
    fitting = [array for _, array in arrays if fits(array)]
    return fitting[0] if fitting else next((array for _, array in arrays), None)
