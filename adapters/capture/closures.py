"""Functions that carry their arrays with them, in a closure or a partial call, as pairs of function and parameters."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from types import BuiltinFunctionType, CellType, FunctionType, MethodType, ModuleType
from typing import Any


def pair_of_closure(found: Any) -> tuple[Callable[..., Any], dict[str, Any]] | None:
    """Return a function of what another one carries with it and of its inputs, and what it carries; None if nothing.

    Functions in a closure carry their own, which are among them.
    """
    carried: dict[str, Any] = {}
    _collect(found, "", carried, set())
    if not carried:
        return None

    def apply(parameters: Mapping[str, Any], /, *inputs: Any, **keywords: Any) -> Any:
        return _rebuilt(found, "", parameters, {})(*inputs, **keywords)

    # A name that no input has.
    first = inspect.Parameter("_parameters_of_the_model", inspect.Parameter.POSITIONAL_ONLY)
    own = [one for one in inspect.signature(found).parameters.values() if one.kind is not one.POSITIONAL_ONLY]
    apply.__signature__ = inspect.Signature([first, *own])  # type: ignore[attr-defined]
    apply.__name__ = getattr(found, "__name__", "model")
    apply.__module__ = getattr(_innermost(found), "__module__", apply.__module__)
    return apply, carried


def _innermost(found: Any) -> Any:
    while isinstance(found, functools.partial):
        found = found.func
    return found


def _parts(found: Any) -> dict[str, Any]:
    """Return what a function carries, by name."""
    if isinstance(found, functools.partial):
        return {"func": found.func, **{str(place): one for place, one in enumerate(found.args)}, **found.keywords}
    if isinstance(found, MethodType):
        return {"self": found.__self__}
    if not isinstance(found, FunctionType) or not found.__closure__:
        return {}
    held = zip(found.__code__.co_freevars, found.__closure__, strict=True)
    return {name: cell.cell_contents for name, cell in held if _is_filled(cell)}


def _is_filled(cell: CellType) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def _is_function(value: Any) -> bool:
    return isinstance(value, FunctionType | MethodType | functools.partial)


def _collect(found: Any, path: str, carried: dict[str, Any], seen: set[int]) -> None:
    if id(found) in seen:
        return
    seen.add(id(found))
    for name, value in _parts(found).items():
        if _is_function(value):
            _collect(value, f"{path}{name}.", carried, seen)
        elif not isinstance(value, type | ModuleType | BuiltinFunctionType):
            carried[f"{path}{name}"] = value


def _rebuilt(found: Any, path: str, parameters: Mapping[str, Any], made: dict[int, Any]) -> Any:
    """Return a function that carries other values, in the same places."""
    if id(found) in made:
        return made[id(found)]

    def other(name: str, value: Any) -> Any:
        return (
            _rebuilt(value, f"{path}{name}.", parameters, made)
            if _is_function(value)
            else parameters.get(f"{path}{name}", value)
        )

    parts = _parts(found)
    if isinstance(found, functools.partial):
        inner = _rebuilt(found.func, f"{path}func.", parameters, made)
        arguments = [other(str(place), one) for place, one in enumerate(found.args)]
        keywords = {name: other(name, value) for name, value in found.keywords.items()}
        made[id(found)] = functools.partial(inner, *arguments, **keywords)
        return made[id(found)]
    if isinstance(found, MethodType):
        return getattr(other("self", found.__self__), found.__name__)
    if not parts:
        return found
    cells = {name: CellType() for name in found.__code__.co_freevars}
    own = FunctionType(found.__code__, found.__globals__, found.__name__, found.__defaults__, tuple(cells.values()))
    own.__kwdefaults__ = found.__kwdefaults__
    # A function may be in its own closure.
    made[id(found)] = own
    for name, cell in zip(found.__code__.co_freevars, found.__closure__ or (), strict=True):
        if name in parts:
            cells[name].cell_contents = other(name, parts[name])
        elif _is_empty(cell):
            continue
        else:
            cells[name].cell_contents = cell.cell_contents
    return own


def _is_empty(cell: CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return True
    return False
