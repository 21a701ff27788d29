"""Two functions of NumPy, a forward pass and the backward pass that belongs to it, as one object with both."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter
from types import ModuleType
from typing import Any

import numpy as np
from veriformer.adapters.capture.guessed_sizes import HIDDEN, WIDTH, size_called
from veriformer.adapters.capture.guessed_weights import weights_called
from veriformer.adapters.capture.numpy_models import imported_by
from veriformer.adapters.matching.backward_pairs import calls_upstream, forward_function_of
from veriformer.adapters.matching.gradient_names import is_gradient_of
from veriformer.adapters.matching.names import folded
from veriformer.adapters.matching.saved import CACHES

_OTHERS = frozenset({"jax", "torch", "tensorflow", "mlx"})


@dataclass(frozen=True)
class _Both:
    """A forward pass of `x` and other arguments, and the backward pass with what each of its parameters is.

    `weights` and `sizes` are the other arguments of the forward pass by name.
    """

    forward: Callable[..., Any]
    backward: Callable[..., Any]
    x: str
    weights: Mapping[str, np.ndarray]
    sizes: Mapping[str, Any]


def with_both_passes(backward: Any, home: ModuleType, notes: list[str]) -> Any:
    """Return an object of the pass that a backward pass belongs to and of it; None where a function is none of NumPy.

    The weights have shapes that follow from their names. What the backward pass returns is the gradient of the input,
    and of the weights in the order in which the forward pass takes them, or by their names.
    """
    imported = imported_by(home.__name__)
    if "numpy" not in imported or imported & _OTHERS:
        return None
    forward = forward_function_of(backward)
    both = None if forward is None else _both(forward, backward)
    if both is None:
        return None
    given = ", ".join(f"{name} = {value}" for name, value in both.sizes.items())
    notes.append(
        f"It was read as {both.forward.__name__} with its gradients by {backward.__name__}, with weights of random "
        f"numbers{f', {given}' if given else ''}"
    )
    return _object_of(both)


def _both(forward: Callable[..., Any], backward: Callable[..., Any]) -> _Both | None:
    takes, returns = _parameters(forward), _parameters(backward)
    if not takes or not returns or not any(calls_upstream(one.name) for one in returns[:1]):
        return None
    x, *others = takes
    needed = [one.name for one in others if one.default is Parameter.empty]
    weights = {name: array for name in needed if (array := weights_called(name, WIDTH, HIDDEN)) is not None}
    sizes = {name: size for name in needed if name not in weights and (size := size_called(name)) is not None}
    handed = (*(one.name for one in takes), *(one.name for one in returns if folded(one.name) in CACHES))
    unknown = [one.name for one in returns[1:] if one.default is Parameter.empty and one.name not in handed]
    if not weights or unknown or len(weights) + len(sizes) < len(needed):
        return None
    return _Both(forward, backward, x.name, weights, sizes)


def _parameters(function: Callable[..., Any]) -> list[Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []


def _object_of(both: _Both) -> Any:
    class Passes:
        def __init__(self) -> None:
            for name, array in both.weights.items():
                setattr(self, name, array)

        def forward(self, x: Any) -> Any:
            self.x = x
            returned = both.forward(**{both.x: x}, **self.held(), **both.sizes)
            result, *saved = returned if isinstance(returned, tuple) else (returned,)
            self.saved = saved[0] if len(saved) == 1 else tuple(saved)
            return result

        def held(self) -> dict[str, Any]:
            return {name: getattr(self, name) for name in both.weights}

        def backward(self, grad_output: Any) -> Any:
            known = {both.x: self.x, **self.held(), **both.sizes}
            upstream, *others = _parameters(both.backward)
            given = {
                one.name: self.saved if folded(one.name) in CACHES else known[one.name]
                for one in others
                if folded(one.name) in CACHES or one.name in known
            }
            returned = both.backward(**{upstream.name: grad_output}, **given)
            found = _by_name(returned, known, [both.x, *both.weights])
            for name in both.weights:
                # What is not known is no gradient of zero.
                setattr(self, f"d{name}", found.get(name, np.empty(0)))
            return found.get(both.x)

    name = f"{both.forward.__name__} and {both.backward.__name__}"
    Passes.__name__ = Passes.__qualname__ = name
    Passes.__module__ = both.forward.__module__
    return Passes()


def _by_name(returned: Any, known: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Return the gradients that a backward pass gives, by what they are gradients of: in order, or by their keys.

    Where the shapes say that the order is another one, what no other array has the shape of is known.
    """
    parts = returned if isinstance(returned, tuple | list) else (returned,)
    keyed = {key: one for part in parts if isinstance(part, Mapping) for key, one in part.items()}
    arrays = [one for one in parts if isinstance(one, np.ndarray)]
    found = {
        name: one
        for name in names
        for key, one in keyed.items()
        if (key == name or is_gradient_of(str(key), name)) and one.shape == known[name].shape
    }
    for order in (names, [*names[1:], names[0]]):
        if len(arrays) <= len(names) and all(
            one.shape == known[name].shape for name, one in zip(order, arrays, strict=False)
        ):
            return {**dict(zip(order, arrays, strict=False)), **found}
    for name in names:
        alike = [one for one in arrays if one.shape == known[name].shape]
        rivals = [other for other in names if known[other].shape == known[name].shape]
        if len(alike) == len(rivals) == 1:
            found.setdefault(name, alike[0])
    return found
