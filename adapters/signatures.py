"""The signature of an operation: its keywords, and those that look misspelt."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from veriformer.adapters.spelling import closest
from veriformer.spec.operations import Operation

_CATCH_ALLS = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)

_KEYWORD_CUTOFF = 0.75

# Names from other interfaces that are not spelt similarly.
_OTHER_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "attn_mask": "mask",
        "attention_mask": "mask",
        "attn_bias": "bias",
        "attention_bias": "bias",
        "sm_scale": "scale",
        "softmax_scale": "scale",
        "epsilon": "eps",
        "nhead": "num_heads",
        "n_heads": "num_heads",
        "n_kv_heads": "num_kv_heads",
    }
)


def keyword_names(function: Callable[..., Any]) -> frozenset[str]:
    """Return the names that may be passed by keyword; a catch-all `**kwargs` adds none."""
    return frozenset(parameter.name for parameter in _parameters(function) if parameter.kind in _BY_NAME)


def builds_something(found: object) -> bool:
    """Return whether an object is a function that can be called without arguments: it builds something.

    Every operation takes at least one argument, so that such a function is none, whatever it is called.
    """
    if isinstance(found, type) or not (inspect.isroutine(found) or hasattr(found, "__wrapped__")):
        return False
    try:
        parameters = inspect.signature(found).parameters.values()  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False
    return all(one.default is not one.empty for one in parameters)


def misspelt_keywords(function: Callable[..., Any], operation: Operation) -> tuple[tuple[str, str], ...]:
    """Return (received, probably meant) for each keyword that the operation does not have but nearly has.

    Positional arguments may have any name. So may an extra keyword that is near to nothing: with a default it is
    the implementation's own business.
    """
    absent = _absent_keywords(function, operation)
    pairs = ((name, closest(name, absent, cutoff=_KEYWORD_CUTOFF)) for name in _extra_keywords(function, operation))
    return tuple((name, meant) for name, meant in pairs if meant)


def foreign_keywords(function: Callable[..., Any], operation: Operation) -> tuple[tuple[str, str], ...]:
    """Return (received, name here) for each keyword that other interfaces use for one that the operation has."""
    absent = _absent_keywords(function, operation)
    pairs = ((name, _OTHER_NAMES.get(name)) for name in _extra_keywords(function, operation))
    return tuple((name, meant) for name, meant in pairs if meant in absent)


def optional_inputs(function: Callable[..., Any], operation: Operation) -> tuple[str, ...]:
    """Return the keywords that an operation does not have and that are None by default."""
    nones = {one.name for one in _parameters(function) if one.default is None}
    return tuple(name for name in _extra_keywords(function, operation) if name in nones)


def is_of_another_interface(function: Callable[..., Any], operation: Operation) -> bool:
    """Return whether a function must be given more by position than an operation, and none of its weights as such.

    It only has the operation's name: what it takes is no mistake. One that has the operation's arguments and needs one
    more was written to the interface.
    """
    needed = [one.name for one in _parameters(function) if one.default is one.empty and one.kind not in _CATCH_ALLS]
    by_position = [
        one.name
        for one in _parameters(function)
        if one.name in needed and one.kind is not inspect.Parameter.KEYWORD_ONLY
    ]
    has_its_arguments = set(operation.positional).issubset(by_position)
    return len(by_position) > len(operation.positional) and not has_its_arguments


def unaccepted_call(function: Callable[..., Any], operation: Operation) -> str:
    """Return why the function cannot be called with the operation's required parameters; empty when it can.

    A function whose signature cannot be read passes: its calls will show whether it can be called.
    """
    required = [parameter for parameter in operation.parameters if parameter.requirement != "feature"]
    keywords = {parameter.name: None for parameter in required if parameter.requirement == "keyword"}
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return ""
    try:
        signature.bind(*(None for _ in operation.positional), **keywords)
    except TypeError as error:
        return "it is a class; give an instance of it, or a function" if _is_class(function) else str(error)
    return ""


def _is_class(function: Callable[..., Any]) -> bool:
    return inspect.isclass(function) or bool(getattr(function, "stands_for_class", False))


def _absent_keywords(function: Callable[..., Any], operation: Operation) -> list[str]:
    taken = keyword_names(function).union(operation.positional)
    return [parameter.name for parameter in operation.parameters if parameter.name not in taken]


def _extra_keywords(function: Callable[..., Any], operation: Operation) -> list[str]:
    known = {parameter.name for parameter in operation.parameters}
    named = [parameter for parameter in _parameters(function) if parameter.kind not in _CATCH_ALLS]
    positional = [parameter for parameter in named if parameter.kind is not inspect.Parameter.KEYWORD_ONLY]
    taken = {parameter.name for parameter in positional[: len(operation.positional)]}
    return [parameter.name for parameter in named if parameter.name not in known | taken]


def _parameters(function: Callable[..., Any]) -> tuple[inspect.Parameter, ...]:
    try:
        parameters = tuple(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return ()
    # torch.nn.Module is called with (*args, **kwargs) and hands them to forward, which has the names.
    forward = getattr(function, "forward", None)
    if callable(forward) and all(parameter.kind in _CATCH_ALLS for parameter in parameters):
        return _parameters(forward)
    return parameters
