"""Functions of torch's autograd, which are called as `Kind.apply`, as functions of what their forward pass takes."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from veriformer.adapters.matching.standing_for import standing_for
from veriformer.adapters.matching.texts import source_of


def kind_applied(value: object) -> Any:
    """Return the class of which a value is `apply`; None where it is another thing."""
    torch, kind = sys.modules.get("torch"), getattr(value, "__self__", None)
    if torch is None or not isinstance(kind, type) or not issubclass(kind, torch.autograd.Function):
        return None
    return kind if getattr(value, "__name__", "") == "apply" else None


def as_written(name: str, kind: Any) -> Callable[..., Any]:
    """Return `Kind.apply` as a function with the parameters of the forward pass, which it takes by position alone."""
    parameters = list(inspect.signature(kind.forward).parameters.values())
    torch = sys.modules["torch"]
    # Where the context is set up apart, the forward pass has none.
    has_context = kind.setup_context is torch.autograd.Function.setup_context
    signature = inspect.Signature(parameters[1:] if has_context else parameters)

    def applied(*positional: Any, **named: Any) -> Any:
        bound = signature.bind(*positional, **named)
        bound.apply_defaults()
        return kind.apply(*bound.args, *bound.kwargs.values())

    return standing_for(kind.forward, applied, name, signature)


def in_their_place(functions: Mapping[str, Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    """Return functions by name, with those that are `Kind.apply` as functions of what the forward pass takes."""
    kinds = {name: kind for name, one in functions.items() if (kind := kind_applied(one)) is not None}
    return {**functions, **{name: as_written(name, kind) for name, kind in kinds.items()}}


def functions_of_kinds(module: ModuleType) -> dict[str, Callable[..., Any]]:
    """Return what a module calls `Kind.apply` by a name of its own, and the public kinds that no function applies."""
    torch, held = sys.modules.get("torch"), vars(module)
    if torch is None:
        return {}
    public = {name: one for name, one in held.items() if not name.startswith("_")}
    named = {name: kind for name, one in public.items() if (kind := kind_applied(one)) is not None}
    kinds = {
        name: one
        for name, one in public.items()
        if isinstance(one, type) and issubclass(one, torch.autograd.Function) and one not in named.values()
    }
    found = {**named, **{f"{name}.apply": kind for name, kind in kinds.items() if not _is_applied(name, held)}}
    return {name: as_written(name, kind) for name, kind in found.items() if kind.__module__ == module.__name__}


def _is_applied(name: str, held: Mapping[str, Any]) -> bool:
    """Return whether a function or a class of a module applies a kind, so that it is judged with that."""
    parts = (one for one in held.values() if inspect.isfunction(one) or isinstance(one, type))
    return any(f"{name}.apply" in (source_of(one) or "") for one in parts)
