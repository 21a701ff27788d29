"""Functions that TorchScript has compiled, which Python can ask for no signature, as functions with one."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from functools import partial
from types import ModuleType
from typing import Any

from veriformer.adapters.matching.standing_for import standing_for

TRACED = (
    "torch.jit.trace recorded it with the sizes of its example, which others need not fit: check the function that it "
    "was recorded of"
)


def is_scripted(value: object) -> bool:
    """Return whether a value is a function of TorchScript, scripted or traced."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.jit.ScriptFunction)


def is_traced(value: Any) -> bool:
    """Return whether a function of TorchScript was recorded from an example: its inputs have sizes."""
    types = [one.type() for one in value.graph.inputs()] if is_scripted(value) else []
    return any(one.kind() == "TensorType" and one.sizes() is not None for one in types)


def home_of(value: Any) -> str | None:
    """Return the module that a function was written in, also one that is wrapped in an object of a library."""
    if is_scripted(value):
        # What was compiled in another way keeps no Python function.
        return getattr(written(value), "__module__", None)
    if isinstance(value, partial):
        value = value.func
    # numpy.vectorize
    return getattr(getattr(value, "pyfunc", value), "__module__", None)


def written(value: Any) -> Callable[..., Any] | None:
    """Return the Python function that one of TorchScript was compiled of; None where it is not kept."""
    found = getattr(value, "_torchdynamo_inline", None)
    return found if inspect.isfunction(found) else None


def as_written(name: str, value: Any) -> Any:
    """Return a function of TorchScript as one with the parameters of its schema; anything else as it is."""
    if not is_scripted(value):
        return value
    signature = inspect.Signature([_parameter(one) for one in value.schema.arguments])

    def scripted(*positional: Any, **named: Any) -> Any:
        return value(*positional, **named)

    plain = written(value)
    if plain is not None:
        return standing_for(plain, scripted, name, signature)
    vars(scripted).update(__signature__=signature)
    scripted.__name__ = scripted.__qualname__ = name
    return scripted


def in_their_place(functions: Mapping[str, Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    """Return functions by name, those of TorchScript with their parameters, without those that were traced."""
    return {name: as_written(name, one) for name, one in functions.items() if not is_traced(one)}


def traced_in(module: ModuleType) -> dict[str, str]:
    """Return the public functions of a module that were traced, with the reason why they are not judged."""
    held = ((name, one) for name, one in vars(module).items() if not name.startswith("_"))
    return {name: TRACED for name, one in held if is_traced(one) and home_of(one) == module.__name__}


def _parameter(argument: Any) -> inspect.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY if argument.kwarg_only else inspect.Parameter.POSITIONAL_OR_KEYWORD
    default = argument.default_value if argument.has_default_value() else inspect.Parameter.empty
    return inspect.Parameter(argument.name, kind, default=default)
