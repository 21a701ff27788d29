"""Models of JAX that are no modules of a library: objects of own classes, partial functions, functions in a closure.

Their arrays are taken out by the paths that they stand at, and each call is made on a copy that holds other arrays.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Mapping
from types import FunctionType, ModuleType
from typing import Any

from veriformer.adapters.capture.carried import (
    Copy,
    applied_to_parameters,
    arrays_in,
    by_short_paths,
    is_of_own_class,
    is_own,
)
from veriformer.adapters.capture.numpy_models import forward_of, has_forward, imported_by


def is_jax_object(found: object) -> bool:
    """Return whether an object is a model of JAX: it can be called and holds JAX's arrays of floating-point numbers."""
    jax = sys.modules.get("jax")
    if jax is None or isinstance(found, type | ModuleType) or _forward_of(found) is None:
        return False
    own = isinstance(found, functools.partial | FunctionType) or is_own(found)
    return own and any(isinstance(one, jax.Array) for one in arrays_in(found, _is_array).values())


def is_jax_class(found: object) -> bool:
    """Return whether a class is one of callable objects of its own in a module that imports JAX."""
    if not isinstance(found, type) or "jax" not in sys.modules or not is_of_own_class(found):
        return False
    return has_forward(found) and "jax" in imported_by(found.__module__)


def pair_of(found: Any) -> tuple[Callable[..., Any], dict[str, Any]]:
    """Return a function of parameters and inputs that does what an object does, and its parameters by their paths."""
    parameters = by_short_paths(arrays_in(found, _is_array))

    def apply(parameters: Mapping[str, Any], /, *inputs: Any, **keywords: Any) -> Any:
        forward = _forward_of(_with_arrays(found, parameters))
        assert forward is not None
        return forward(*inputs, **keywords)

    return applied_to_parameters(apply, found, _inputs_of(found)), parameters


def _inputs_of(found: Any) -> list[inspect.Parameter]:
    """Return the parameters of a call; any number of inputs where nothing tells them."""
    try:
        return list(inspect.signature(_forward_of(found) or found).parameters.values())
    except (TypeError, ValueError):
        return [inspect.Parameter("inputs", inspect.Parameter.VAR_POSITIONAL)]


def _forward_of(found: Any) -> Callable[..., Any] | None:
    """Return what runs an object as a model; a function, whole or in part, runs itself."""
    return found if isinstance(found, functools.partial | FunctionType) else forward_of(found)


def _is_array(node: Any) -> bool:
    import jax
    import numpy as np

    if not isinstance(node, jax.Array | np.ndarray) or jax.dtypes.issubdtype(node.dtype, jax.dtypes.prng_key):
        return False
    return bool(jax.numpy.issubdtype(node.dtype, jax.numpy.inexact))


def _with_arrays(root: Any, arrays: Mapping[str, Any]) -> Any:
    """Return a copy of an object that holds other arrays, by their paths; what holds none is shared."""
    return Copy({id(one): arrays[path] for path, one in by_short_paths(arrays_in(root, _is_array)).items()}).of(root)
