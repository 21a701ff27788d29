"""Models of JAX that are no modules of a library: objects of own classes, partial functions, functions in a closure.

Their arrays are taken out by the paths that they stand at, and each call is made on a copy that holds other arrays.
"""

from __future__ import annotations

import copy
import functools
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from types import CellType, FunctionType, ModuleType
from typing import Any

from veriformer.adapters.capture.numpy_models import forward_of, has_forward, imported_by

# Objects are looked into this deep: model, layers, layer, attention, weights, array, and some lists between.
_DEEPEST = 12
# The classes of functions that JAX has compiled.
_COMPILED = ("PjitFunction",)
# Objects of these packages hold no arrays of a user's model in their attributes, or have a reader of their own.
_FOREIGN = frozenset(
    {
        "builtins",
        "types",
        "functools",
        "collections",
        "jax",
        "jaxlib",
        "numpy",
        "torch",
        "flax",
        "equinox",
        "keras",
        "haiku",
    }
)


def is_jax_object(found: object) -> bool:
    """Return whether an object is a model of JAX: it can be called and holds JAX's arrays of floating-point numbers."""
    jax = sys.modules.get("jax")
    if jax is None or isinstance(found, type | ModuleType) or _forward_of(found) is None:
        return False
    own = isinstance(found, functools.partial | FunctionType) or _is_own(found)
    return own and any(isinstance(one, jax.Array) for one in _floating(found).values())


def is_jax_class(found: object) -> bool:
    """Return whether a class is one of callable objects of its own in a module that imports JAX."""
    if not isinstance(found, type) or "jax" not in sys.modules or not _is_of_own_class(found):
        return False
    return has_forward(found) and "jax" in imported_by(found.__module__)


def pair_of(found: Any) -> tuple[Callable[..., Any], dict[str, Any]]:
    """Return a function of parameters and inputs that does what an object does, and its parameters by their paths."""
    parameters = _parameters(found)

    def apply(parameters: Mapping[str, Any], /, *inputs: Any, **keywords: Any) -> Any:
        forward = _forward_of(_with_arrays(found, parameters))
        assert forward is not None
        return forward(*inputs, **keywords)

    # A name that no input has.
    first = inspect.Parameter("_parameters_of_the_model", inspect.Parameter.POSITIONAL_ONLY)
    own = [one.replace(annotation=one.empty) for one in _inputs_of(found)]
    apply.__signature__ = inspect.Signature([first, *own])  # type: ignore[attr-defined]
    apply.__name__ = getattr(found, "__name__", type(found).__name__)
    return apply, parameters


def _inputs_of(found: Any) -> list[inspect.Parameter]:
    """Return the parameters of a call; any number of inputs where nothing tells them."""
    try:
        return list(inspect.signature(_forward_of(found) or found).parameters.values())
    except (TypeError, ValueError):
        return [inspect.Parameter("inputs", inspect.Parameter.VAR_POSITIONAL)]


def _forward_of(found: Any) -> Callable[..., Any] | None:
    """Return what runs an object as a model; a function, whole or in part, runs itself."""
    return found if isinstance(found, functools.partial | FunctionType) else forward_of(found)


def _is_of_own_class(kind: type) -> bool:
    return not any(
        one.__module__.partition(".")[0] in _FOREIGN - {"builtins"} for one in kind.__mro__ if one is not object
    )


def _is_own(node: Any) -> bool:
    """Return whether an object is of a class of the user's, and so may hold arrays in its attributes."""
    package = type(node).__module__.partition(".")[0]
    return hasattr(node, "__dict__") and package not in _FOREIGN and not isinstance(node, type | ModuleType)


def _members(node: Any) -> Iterator[tuple[Any, Any]]:
    """Yield what is in a container, an own object, a partial function or a closure, by its key or name."""
    if isinstance(node, Mapping):
        yield from list(node.items())
    elif isinstance(node, list | tuple):
        yield from enumerate(node)
    elif isinstance(node, functools.partial):
        yield from (("func", node.func), ("args", node.args), ("keywords", node.keywords))
    elif isinstance(node, FunctionType):
        yield from _closed_over(node)
    elif _is_own(node):
        yield from list(vars(node).items())


def _closed_over(function: FunctionType) -> Iterator[tuple[str, Any]]:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:
            # A name that is not bound yet.
            continue


def _is_array(node: Any) -> bool:
    import jax
    import numpy as np

    if not isinstance(node, jax.Array | np.ndarray) or jax.dtypes.issubdtype(node.dtype, jax.dtypes.prng_key):
        return False
    return bool(jax.numpy.issubdtype(node.dtype, jax.numpy.inexact))


def _floating(root: Any) -> dict[str, Any]:
    """Return the arrays of floating-point numbers in an object, by their paths; one at several paths under each."""
    found: dict[str, Any] = {}

    def walk(node: Any, path: str, above: tuple[int, ...]) -> None:
        if _is_array(node):
            found[path] = node
            return
        if id(node) in above or len(above) > _DEEPEST:
            return
        for key, member in _members(node):
            walk(member, f"{path}.{key}" if path else str(key), (*above, id(node)))

    walk(root, "", ())
    return found


def _parameters(root: Any) -> dict[str, Any]:
    """Return the arrays of a model by their paths, without what all of them begin with, such as a closure's name."""
    found = _floating(root)
    pieces = [path.split(".") for path in found]
    shared = 0
    while len(found) > 1 and all(len(one) > shared + 1 for one in pieces) and len({one[shared] for one in pieces}) == 1:
        shared += 1
    return {".".join(path.split(".")[shared:]): array for path, array in found.items()}


def _with_arrays(root: Any, arrays: Mapping[str, Any]) -> Any:
    """Return a copy of an object that holds other arrays, by their paths; what holds none is shared."""
    return _Copy({id(one): arrays[path] for path, one in _parameters(root).items()}).of(root)


class _Copy:
    """Copies containers, own objects, partial functions and closures, with other arrays in place of some."""

    def __init__(self, arrays: Mapping[int, Any]) -> None:
        self._arrays = arrays
        self._made: dict[int, Any] = {}

    def of(self, node: Any, depth: int = 0) -> Any:
        """Return the copy of a node, the same one for the same node."""
        if _is_array(node):
            return self._arrays.get(id(node), node)
        if id(node) in self._made or depth > _DEEPEST:
            return self._made.get(id(node), node)
        if isinstance(node, tuple):
            members = [self.of(member, depth + 1) for member in node]
            return type(node)(*members) if hasattr(node, "_fields") else type(node)(members)
        if isinstance(node, functools.partial):
            function, positional, keywords = (self.of(one, depth + 1) for one in (node.func, node.args, node.keywords))
            return functools.partial(function, *positional, **keywords)
        if isinstance(node, FunctionType):
            return self._function(node, depth)
        if type(node).__name__ in _COMPILED and hasattr(node, "__wrapped__"):
            # What is recorded is not compiled, and what is compiled holds the arrays that it was made with.
            return self.of(node.__wrapped__, depth + 1)
        return self._changed_in_place(node, depth)

    def _changed_in_place(self, node: Any, depth: int) -> Any:
        """Return a copy of what can be changed: a dictionary, a list or an own object; anything else itself."""
        if not isinstance(node, Mapping | list) and not _is_own(node):
            return node
        made = self._made[id(node)] = copy.copy(node)
        for key, member in _members(node):
            inner = self.of(member, depth + 1)
            if isinstance(node, Mapping | list):
                made[key] = inner
            else:
                # Some classes forbid to set an attribute; the model's own code need not know.
                object.__setattr__(made, key, inner)
        return made

    def _function(self, function: FunctionType, depth: int) -> Any:
        """Return a function with what it closes over exchanged for copies; itself where it closes over nothing."""
        if not function.__closure__:
            return function
        values = dict(_closed_over(function))
        names = function.__code__.co_freevars
        cells = tuple(CellType(self.of(values[name], depth + 1)) if name in values else CellType() for name in names)
        made = FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__, cells)
        made.__kwdefaults__ = function.__kwdefaults__
        return made
