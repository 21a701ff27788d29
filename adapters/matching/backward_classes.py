"""Classes with a forward and a backward method, and losses that return their gradient, as functions of gradients."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any

from veriformer.adapters.matching import saved
from veriformer.adapters.matching.gradient_names import holds_gradients, is_gradient_of
from veriformer.adapters.matching.names import Taking, folded, is_called, parameters_of
from veriformer.adapters.matching.namespaces import shape_of
from veriformer.spec.operations import OPERATIONS

_WEIGHTS = ("gamma", "beta")
_HELD = ("params", "parameters", "weights", "p")


def classes_with_both(module: ModuleType) -> Iterator[tuple[str, type]]:
    """Yield the public classes of a module that have both passes; functions of torch's autograd are none of them."""
    for name, kind in vars(module).items():
        if not isinstance(kind, type) or kind.__module__ != module.__name__ or name.startswith("_"):
            continue
        both = [inspect.getattr_static(kind, one, None) for one in ("forward", "backward")]
        own = all(isinstance(one, staticmethod) or inspect.isfunction(one) for one in both)
        if own and not hasattr(kind, "apply") and not hasattr(kind, "named_parameters"):
            yield name, kind


def is_static(kind: type) -> bool:
    """Return whether both passes of a class are static functions."""
    return all(isinstance(inspect.getattr_static(kind, one, None), staticmethod) for one in ("forward", "backward"))


def gradients_of(kind: type, operation: str) -> Callable[..., Any] | None:
    """Return a class's backward pass as a function of the gradient and of what the operation takes.

    Each call builds an object, gives it the weights, and takes both passes. None where its methods take other things.
    """
    passes: Any = kind
    forward, backward = (_required(one)[1:] for one in (passes.forward, passes.backward))
    keeps = len(backward) == 2 and folded(backward[1].name) in saved.CACHES
    inputs = [one.name for one in OPERATIONS[operation].parameters if one.requirement == "positional"]
    arrays = [one for one in inputs if one not in _WEIGHTS]
    # A loss goes back from itself.
    starts = operation == "cross_entropy" and not backward
    if len(backward) != 1 + keeps - starts or len(forward) != len(arrays):
        return None
    weights = [one for one in inputs if one in _WEIGHTS]
    has_eps = "eps" in [one.name for one in OPERATIONS[operation].parameters]
    eps = _eps_of(kind, operation) if has_eps else ""

    def gradients(*given: Any, **settings: Any) -> Any:
        upstream, given = (() if starts else given[:1]), (given if starts else given[1:])
        made = _built(kind, shape_of(given[0])[-1], {eps: settings["eps"]} if eps else {})
        names = _weights_set(made, operation, dict(zip(weights, given[len(arrays) :], strict=True)))
        returned = made.forward(*given[: len(arrays)])
        result = made.backward(*upstream, *(returned[-1:] if keeps else ()))
        if not weights or isinstance(result, tuple | list):
            return result
        return (result, *(_gradient(made, names[one]) for one in weights))

    kinds = inspect.Parameter
    gradients.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            *(kinds(name, kinds.POSITIONAL_ONLY) for name in (*(() if starts else ("dout",)), *arrays, *weights)),
            *([kinds("eps", kinds.KEYWORD_ONLY)] if eps else []),
        ]
    )
    gradients.__name__ = f"{kind.__name__}.backward"
    gradients.__wrapped__ = passes.forward  # type: ignore[attr-defined]
    return gradients


def forward_of(kind: type, operation: str) -> Callable[..., Any]:
    """Return a class's forward pass as a function; each call builds an object."""
    passes: Any = kind

    def forward(*given: Any) -> Any:
        return _built(kind, shape_of(given[0])[-1], {}).forward(*given)

    inputs = [one.name for one in OPERATIONS[operation].parameters if one.requirement == "positional"]
    kinds = inspect.Parameter
    forward.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [kinds(name, kinds.POSITIONAL_ONLY) for name in inputs]
    )
    forward.__name__ = f"{kind.__name__}.forward"
    forward.__wrapped__ = passes.forward  # type: ignore[attr-defined]
    return forward


def _required(function: Callable[..., Any]) -> list[Taking]:
    return [one for one in parameters_of(function) or [] if not one.has_default]


def _eps_of(kind: type, operation: str) -> str:
    parameter = OPERATIONS[operation].parameter("eps")
    return next((one.name for one in parameters_of(kind) or [] if is_called(one.name, parameter)), "")


def _built(kind: type, width: int, settings: Mapping[str, Any]) -> Any:
    required = [one.name for one in _required(kind) if one.name not in settings]
    if len(required) > 1:
        raise TypeError(f"nothing says what {kind.__name__} is built with")
    return kind(**dict.fromkeys(required, width), **settings)


def _weights_set(made: Any, operation: str, weights: Mapping[str, Any]) -> dict[str, str]:
    """Give an object its weights, and return their names there; TypeError where it has none of a kind."""
    names: dict[str, str] = {}
    holder = next((vars(made)[one] for one in _HELD if isinstance(vars(made).get(one), dict)), vars(made))
    for role, value in weights.items():
        name = next((one for one in holder if is_called(one, OPERATIONS[operation].parameter(role))), None)
        if name is None:
            raise TypeError(f"nothing in it is {role}")
        holder[name] = value
        names[role] = name
    return names


def _gradient(made: Any, name: str) -> Any:
    """Return the gradient of a weight that a backward pass has left in an object."""
    held = vars(made)
    beside = (value for attribute, value in held.items() if is_gradient_of(attribute, name))
    together = (dict(one) for attribute, one in held.items() if holds_gradients(attribute) and isinstance(one, dict))
    among = (one[key] for one in together for key in one if str(key) == name or is_gradient_of(str(key), name))
    for gradient in (*beside, *among):
        return gradient
    raise TypeError(f"nothing in it is the gradient of {name}")


def gradient_beside(function: Callable[..., Any]) -> tuple[Callable[..., Any] | None, bool]:
    """Return a loss's second result as a function, and whether its name there says that it is the gradient."""
    places = {place: name for name, place in saved.places_of_results(function).items()}
    name = folded(places.get((1,), ""))

    def gradient(*positional: Any, **named: Any) -> Any:
        returned = function(*positional, **named)
        if not isinstance(returned, tuple | list) or len(returned) < 2:
            raise TypeError("it returns no gradient besides the loss")
        return returned[1]

    gradient.__wrapped__ = function  # type: ignore[attr-defined]
    gradient.__name__ = getattr(function, "__name__", "loss")
    return gradient, name.startswith(("d", "grad", "g_"))
