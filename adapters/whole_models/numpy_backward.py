"""The backward pass that a model of NumPy has by hand, and the gradients that it leaves beside the parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from veriformer.adapters.capture.numpy_models import arrays_by_path, arrays_in
from veriformer.adapters.capture.weights import Array
from veriformer.adapters.matching.backward_pairs import calls_upstream
from veriformer.adapters.matching.gradient_names import is_beside, is_gradient_of
from veriformer.adapters.matching.names import folded, parameters_of
from veriformer.adapters.matching.saved import CACHES

_METHODS = ("backward", "backprop", "backward_pass", "bwd")


@dataclass(frozen=True)
class Backward:
    """A method of a model that is handed the gradient of its result, and what the forward pass kept if it `keeps`."""

    method: str
    keeps: bool

    def of(self, model: Any, cotangent: Array, returned: Any) -> Any:
        """Return what the method returns, after a forward pass that `returned` something."""
        kept = (returned[-1],) if self.keeps else ()
        return getattr(model, self.method)(cotangent, *kept)


def backward_of(model: Any) -> Backward | None:
    """Return the backward pass of a model; None where it has none that takes the gradient of a result and no more."""
    for name in _METHODS:
        method = getattr(model, name, None)
        takings = parameters_of(method) if callable(method) and not isinstance(model, type) else None
        needed = [one for one in takings or () if not one.has_default]
        if not needed or not calls_upstream(needed[0].name):
            continue
        keeps = len(needed) == 2 and folded(needed[1].name) in CACHES
        if len(needed) == 1 + keeps:
            return Backward(name, keeps)
    return None


def result_in(returned: Any) -> Array | None:
    """Return the array that a forward pass returns, the first of several; None for anything else."""
    first = returned[0] if isinstance(returned, tuple) and returned else returned
    return first if isinstance(first, np.ndarray) else None


def gradients_by(names: Mapping[str, Array], model: Any, returned: Any) -> dict[str, Array]:
    """Return the gradients that a backward pass left, by the names of the parameters.

    One is called as its parameter, with a word for a gradient before or behind it, beside it or in what it `returned`;
    or has the same name in something that holds gradients.
    """
    left = arrays_by_path(model)
    told = arrays_by_path(returned) if isinstance(returned, Mapping) else _mappings_in(returned)
    found = {}
    for name, array in names.items():
        of_shape = {path: one for path, one in left.items() if one is not array and one.shape == array.shape}
        path = next((path for path in of_shape if is_beside(path, name)), None)
        gradient = of_shape.get(path) if path is not None else _by_key(told, name, array.shape)
        if gradient is not None:
            found[name] = gradient
    return found


def _mappings_in(returned: Any) -> dict[str, Array]:
    found: dict[str, Array] = {}
    for one in returned if isinstance(returned, tuple | list) else ():
        if isinstance(one, Mapping):
            found |= arrays_by_path(one)
    return found


def _by_key(told: Mapping[str, Array], name: str, shape: tuple[int, ...]) -> Array | None:
    """Return the only gradient of that shape in what a backward pass returned that is called as the parameter."""
    key = name.rpartition(".")[2]
    alike: Iterable[str] = [path for path in told if path == name] or [
        path for path in told if (last := path.rpartition(".")[2]) == key or is_gradient_of(last, key)
    ]
    fitting = [told[path] for path in alike if told[path].shape == shape]
    return fitting[0] if len(fitting) == 1 else None


def gradient_of_input(returned: Any, shape: tuple[int, ...]) -> Array | None:
    """Return the gradient of the input, which a backward pass returns first; None where it returns none."""
    found = arrays_in(returned)
    return found[0] if found and found[0].shape == shape and not isinstance(returned, Mapping) else None
