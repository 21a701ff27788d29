"""Functions that carry their arrays with them, in a closure or a partial call, as pairs of function and parameters."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

from veriformer.adapters.capture.carried import Copy, applied_to_parameters, members_of

_FUNCTIONS = (FunctionType, MethodType, functools.partial)
_NO_VALUES = type | ModuleType | BuiltinFunctionType | None


def pair_of_closure(found: Any) -> tuple[Callable[..., Any], dict[str, Any]] | None:
    """Return a function of what another one carries with it and of its inputs, and what it carries; None if nothing.

    Functions in a closure carry their own, which are among them. What is carried is one object for all calls, so that
    what a model keeps between them stays in it. What a compiled function carries is that of the function in it.
    """
    found = found if isinstance(found, _FUNCTIONS) else inspect.unwrap(found)
    carried = dict(_carried(found, "", {id(found)}))
    if not carried:
        return None

    def apply(parameters: Mapping[str, Any], /, *inputs: Any, **keywords: Any) -> Any:
        values = {id(value): parameters[path] for path, value in carried.items()}
        return Copy(values).of(found)(*inputs, **keywords)

    # Its module tells the framework.
    apply.__wrapped__ = found  # type: ignore[attr-defined]
    return applied_to_parameters(apply, found, inspect.signature(found).parameters.values()), carried


def _carried(function: Any, path: str, seen: set[int]) -> Iterator[tuple[str, Any]]:
    """Yield what a function carries that is no function, by the names that it stands under, each function's once."""
    members = members_of(function)
    if isinstance(function, functools.partial):
        members = chain([("func", function.func)], enumerate(function.args), function.keywords.items())
    for name, value in members:
        own = f"{path}.{name}" if path else str(name)
        if not isinstance(value, _FUNCTIONS):
            yield from () if isinstance(value, _NO_VALUES) else [(own, value)]
        elif id(value) not in seen:
            seen.add(id(value))
            yield from _carried(value, own, seen)
