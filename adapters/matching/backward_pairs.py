"""Which function is a backward pass, of which operation, and the forward function that it belongs to."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, cast

from veriformer.adapters.matching import saved
from veriformer.adapters.matching.alibi import inputs_among
from veriformer.adapters.matching.backward_classes import classes_with_both, forward_of, gradients_of, is_static
from veriformer.adapters.matching.names import folded, is_called, parameters_of, suggested, words_of
from veriformer.spec.operations import OPERATIONS

_ATTENTION = "scaled_dot_product_attention"
WITHOUT_UPSTREAM = ("gelu", "silu", "cross_entropy")
_FORWARD = ("softmax", _ATTENTION, "layer_norm", "rms_norm", "gelu", "silu", "cross_entropy")
# Words of a name that say that it is a backward pass, and those that say that it is the forward one.
_BACKWARD = ("backward", "bwd", "backwards", "grad", "gradient", "vjp", "derivative", "prime", "back", "d", "backprop")
_FORWARD_WORDS = ("forward", "fwd")
_OUTPUTS = (
    "out output outputs y o z a p s probs prob loss l weights attn attention context h result softmax logits yhat act"
)
_GRADIENT_OF = ("d", "grad", "dld", "dl", "g")
_OTHER_UPSTREAM = (
    "grad grads gradient upstream delta gradoutputs gy doutput doutputs dldout dldy upstreamgrad gradin dupstream "
    "gradout outputgrad outgrad outputgradient upstreamgradient grady dvalues"
)
_UPSTREAM = frozenset(
    [*(f"{prefix}{one}" for prefix in _GRADIENT_OF for one in _OUTPUTS.split()), *_OTHER_UPSTREAM.split()]
)


@dataclass(frozen=True)
class Pair:
    """A backward pass and the forward function that it belongs to; None where it needs none.

    `operation` is that of the forward pass.
    """

    operation: str
    backward: Callable[..., Any]
    forward: Callable[..., Any] | None


def pair_of(function: Any, name: str) -> Pair | None:
    """Return the backward pass that a function is by its name, with its forward function; None where it is none."""
    if isinstance(function, type) or not callable(function):
        return None
    words = words_of(name)
    stem = _stem(words)
    if len(stem) == len(words):
        return None
    forward = getattr(function, "forward_of_pair", None) or _forward_of(
        getattr(inspect.unwrap(function), "__globals__", {}), function, stem
    )
    operation = _operation_of(stem) or (None if forward is None else _operation_by(forward))
    return None if operation is None else Pair(operation, function, forward)


def forward_function_of(function: Any) -> Callable[..., Any] | None:
    """Return the function of the same file that a backward pass belongs to by its name; None where it is none."""
    if isinstance(function, type) or not inspect.isfunction(inspect.unwrap(function)):
        return None
    words = words_of(function.__name__)
    stem = _stem(words)
    if len(stem) == len(words):
        return None
    return _forward_of(getattr(inspect.unwrap(function), "__globals__", {}), function, stem)


def _operation_by(forward: Callable[..., Any]) -> str | None:
    """Return the operation that a forward pass is by its name, or by queries, keys and values; None for another one."""
    takes = [one.name for one in parameters_of(forward) or ()]
    return _operation_of(words_of(forward.__name__)) or (_ATTENTION if inputs_among(takes) else None)


def _stem(words: Sequence[str]) -> list[str]:
    return [one for one in words if one not in _BACKWARD]


def _operation_of(stem: Sequence[str]) -> str | None:
    found = [one for one in suggested("_".join(stem)) if one in _FORWARD] if stem else []
    if {"log", "softmax"} <= {*stem}:
        # Its upstream gradient is one of log-probabilities, which no operation has.
        return None
    if "softmax" in found and {"loss", "cross"}.intersection(stem):
        return "cross_entropy"
    return found[0] if found else None


def _forward_of(names: Mapping[str, Any], function: Any, stem: Sequence[str]) -> Callable[..., Any] | None:
    """Return the function whose name is that of a backward pass but for the words that say so, else the one alike."""
    own = {
        name: one
        for name, one in names.items()
        if inspect.isfunction(one) and one is not function and one.__module__ == function.__module__
    }
    own = {name: one for name, one in own.items() if len(_stem(words_of(name))) == len(words_of(name))}

    def bare(name: str) -> list[str]:
        return [one for one in words_of(name) if one not in _FORWARD_WORDS]

    alike = [one for name, one in own.items() if bare(name) == list(stem)]
    alike.sort(key=lambda one: not set(_FORWARD_WORDS).intersection(words_of(one.__name__)))
    if not alike and stem:
        operation = _operation_of(stem)
        alike = [one for name, one in own.items() if operation and _operation_of(bare(name)) == operation]
        alike = alike if len(alike) == 1 else []
    return alike[0] if alike else None


def classes_of(module: ModuleType) -> dict[str, Callable[..., Any]]:
    """Return the passes of the classes of a module that have both, by names such as "LayerNorm.backward"."""
    found: dict[str, Callable[..., Any]] = {}
    for name, kind in classes_with_both(module):
        operation, passes = _operation_of(words_of(name)), cast("Any", kind)
        if operation is None:
            continue
        if is_static(kind):
            found[f"{name}.forward"] = _renamed(passes.forward, f"{name}.forward")
            found[f"{name}.backward"] = _renamed(passes.backward, f"{name}.backward", forward=passes.forward)
        elif (gradients := gradients_of(kind, operation)) is not None:
            found[f"{name}.backward"] = gradients
            if operation == _ATTENTION:
                found[f"{name}.forward"] = forward_of(kind, operation)
    return found


def _renamed(function: Callable[..., Any], name: str, **attributes: Any) -> Callable[..., Any]:
    @functools.wraps(function)
    def renamed(*positional: Any, **named: Any) -> Any:
        return function(*positional, **named)

    renamed.__name__ = name
    vars(renamed).update({f"{key}_of_pair": value for key, value in attributes.items()})
    return renamed


def is_of_another_form(name: str, function: Any) -> bool:
    """Return whether a function of a backward operation's name is called otherwise than by the interface.

    Its parameters have to say so: the gradient of the output comes first, or there is a cache or what is kept.
    """
    operation = name.removesuffix("_backward")
    if operation not in _FORWARD or not callable(function) or isinstance(function, type):
        return False
    names = _names_of(function)
    if "grad_output" in names and not saved.CACHES.intersection(map(folded, names)):
        return names[: len(OPERATIONS[name].positional)] != list(OPERATIONS[name].positional) and (
            names[0] == "grad_output"
        )
    upstream_first = bool(names) and is_upstream(names[0], operation)
    keeps = any(folded(one) in saved.CACHES for one in names)
    # The derivative of an activation, or of a mean loss, may be all that is returned.
    lacks_upstream = operation in WITHOUT_UPSTREAM and not any(is_upstream(one, operation) for one in names)
    kept_first = any(saved.kept_called(operation, one) for one in names[:1])
    return upstream_first or keeps or kept_first or lacks_upstream


def is_upstream(name: str, operation: str) -> bool:
    """Return whether a parameter is called like the gradient of an operation's output."""
    called = [one for one in OPERATIONS[operation].parameters if is_called(name, one)]
    return calls_upstream(name) and not (folded(name) == "g" and called)


def calls_upstream(name: str) -> bool:
    """Return whether a parameter is called like the gradient of a result, whatever is computed."""
    return folded(name) in _UPSTREAM or folded(name) == "g"


def _names_of(function: Callable[..., Any]) -> list[str]:
    return [one.name for one in parameters_of(function) or ()]
