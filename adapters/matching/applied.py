"""Functions of torch's autograd, which are called as `Kind.apply`, as functions of what their forward pass takes."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

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

    applied.__name__ = applied.__qualname__ = name
    applied.__module__ = kind.__module__
    applied.__doc__ = kind.forward.__doc__ or kind.__doc__
    applied.__signature__ = signature  # type: ignore[attr-defined]
    applied.__wrapped__ = kind.forward  # type: ignore[attr-defined]
    return applied


def in_their_place(functions: Mapping[str, Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    """Return functions by name, with those that are `Kind.apply` as functions of what the forward pass takes."""
    kinds = {name: kind_applied(one) for name, one in functions.items()}
    return {name: one if kinds[name] is None else as_written(name, kinds[name]) for name, one in functions.items()}


def functions_of_kinds(module: ModuleType) -> dict[str, Callable[..., Any]]:
    """Return what a module calls `Kind.apply` by a name of its own, and the public kinds that no function applies."""
    held = vars(module)
    named = {
        name: kind
        for name, one in held.items()
        if (kind := kind_applied(one)) is not None and not name.startswith("_") and kind.__module__ == module.__name__
    }
    texts = [source_of(one) or "" for one in held.values() if inspect.isfunction(one) or isinstance(one, type)]
    torch = sys.modules.get("torch")
    for name, one in held.items():
        own = isinstance(one, type) and one.__module__ == module.__name__ and not name.startswith("_")
        if torch is None or not own or not issubclass(one, torch.autograd.Function) or one in named.values():
            continue
        if not any(f"{name}.apply" in text for text in texts):
            named[f"{name}.apply"] = one
    return {name: as_written(name, kind) for name, kind in named.items()}
