"""Models of NumPy: the arrays that an object or a tree of parameters holds, and how they are exchanged for others."""

from __future__ import annotations

import copy
import functools
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, MutableMapping, MutableSequence, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import FrameType, ModuleType
from typing import Any, cast

import numpy as np
from veriformer.adapters.capture.trace import Origin
from veriformer.adapters.capture.weights import Array, is_floating, is_formula
from veriformer.adapters.matching.gradient_names import is_beside, may_be_gradient

# Objects are looked into this deep: model, layers, layer, attention, linear, array, and some lists between.
_DEEPEST = 12
# A function of a module that imports one of these is no function of NumPy alone.
_OTHERS = ("jax", "flax", "equinox", "torch", "tensorflow", "keras")


@dataclass
class Held:
    """An array that a model holds, under each of its names."""

    array: Array
    names: tuple[str, ...]
    is_gradient: bool = False

    @cached_property
    def origin(self) -> Origin:
        """Whether it is learned: its values tell, unless its name is that of the gradient of another array."""
        if self.is_gradient:
            return "buffer"
        learned = is_floating(self.array.dtype) and self.array.ndim > 0 and not is_formula(self.array)
        return "parameter" if learned else "buffer"


@dataclass(frozen=True)
class Program:
    """A copy of a model that can be run with other arrays in place of its own.

    `called` has the signature whose inputs begin with the argument at `first_input`. `objects` are the model and what
    it is made of, with paths, by their identity.
    """

    called: Callable[..., Any]
    first_input: int
    held: tuple[Held, ...]
    objects: Mapping[int, tuple[str, Any]]
    _root: list[Any]
    _call: Callable[..., Any]

    @property
    def modules(self) -> dict[str, str]:
        """The class of each object by its path."""
        return {path: type(one).__name__ for path, one in self.objects.values()}

    @property
    def input_names(self) -> list[str]:
        """The names of the arguments that are inputs."""
        return _arguments(self.called)[self.first_input :]

    def path_of(self, frame: FrameType) -> str | None:
        """Return the path of the object whose method runs in a frame; None for any other code."""
        found = self.objects.get(id(frame.f_locals.get("self")))
        return None if found is None else found[0]

    @property
    def root(self) -> Any:
        """The copy that is run: an object, or a tree of parameters."""
        return self._root[0]

    def hold(self, arrays: Mapping[int, Any]) -> None:
        """Let the copy hold other arrays from now on, given by the identities of those in `held`."""
        self._root[0] = _exchanged(self._root[0], arrays, set())

    def run(self, inputs: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
        """Return what the copy returns."""
        return self._call(self._root[0], *inputs, **keywords)


def _exchanged(node: Any, arrays: Mapping[int, Any], done: set[int]) -> Any:
    """Return a tree with other arrays: tuples are made anew, everything else is changed in place."""
    if isinstance(node, np.ndarray):
        return arrays.get(id(node), node)
    if isinstance(node, tuple):
        members = [_exchanged(member, arrays, done) for member in node]
        return type(node)(*members) if hasattr(node, "_fields") else type(node)(members)
    if id(node) not in done:
        done.add(id(node))
        for key, member in _members(node):
            _put(node, key, _exchanged(member, arrays, done))
    return node


def _put(container: Any, key: Any, value: Any) -> None:
    if isinstance(container, MutableMapping | MutableSequence):
        container[key] = value
    else:
        # Some classes forbid to set an attribute; the model's own code need not know.
        object.__setattr__(container, key, value)


def is_numpy_model(found: object) -> bool:
    """Return whether an object is a model of NumPy: it can be called and holds arrays of floating-point numbers.

    A pair (function, parameters) is one if the function's module does not use JAX.
    """
    if isinstance(found, ModuleType | type) or inspect.isroutine(found):
        return False
    if _is_pair(found):
        return True
    return forward_of(found) is not None and any(is_floating(one.array.dtype) for one in _walked(found)[0])


def is_numpy_class(found: object) -> bool:
    """Return whether a class is one of callable objects in a module that imports NumPy and no other framework."""
    if not isinstance(found, type) or found.__module__ not in sys.modules:
        return False
    imported = imported_by(found.__module__)
    return has_forward(found) and "numpy" in imported and not imported.intersection(_OTHERS)


def has_forward(kind: type) -> bool:
    """Return whether the objects of a class can be called, or have a forward pass."""
    return any("__call__" in vars(one) or "forward" in vars(one) for one in kind.__mro__ if one is not object)


def imported_by(module: str) -> set[str]:
    """Return the packages that the names of a module are from."""
    names = vars(sys.modules[module]).values() if module in sys.modules else ()
    return {str(getattr(value, "__name__", "")).partition(".")[0] for value in names}


def _is_pair(found: Any) -> bool:
    if not isinstance(found, tuple | list) or len(found) != 2 or not _is_function(found[0]):
        return False
    if imported_by(getattr(_innermost(found[0]), "__module__", None) or "").intersection(_OTHERS):
        return False
    return any(is_floating(one.array.dtype) for one in _walked(found[1])[0])


def _is_function(found: Any) -> bool:
    """Return whether an object is a function: plain, with some arguments filled in, wrapped, or of a class of its own.

    An object that holds arrays is a model by itself, and one of two in a tuple.
    """
    if inspect.isroutine(found) or isinstance(found, functools.partial):
        return True
    is_object = callable(found) and not isinstance(found, type | ModuleType)
    return is_object and not any(is_floating(one.array.dtype) for one in _walked(found)[0])


def _innermost(function: Any) -> Any:
    """Return the function inside of partials and wrappers, whose module tells the framework."""
    while True:
        inner = getattr(function, "func", None) if isinstance(function, functools.partial) else None
        inner = inner or getattr(function, "__wrapped__", None)
        if inner is None:
            return function
        function = inner


def forward_of(found: Any) -> Callable[..., Any] | None:
    """Return what runs an object as a model; None where nothing does."""
    if type(found).__module__.partition(".")[0] in ("numpy", "builtins", "functools"):
        return None
    if callable(found):
        return cast("Callable[..., Any]", found)
    forward = getattr(found, "forward", None)
    return forward if callable(forward) else None


def program_of(model: Any) -> Program:
    """Return how a copy of a model is run; TypeError for what is none."""
    if _is_pair(model):
        return _pair(model[0], _copied(model[1]))
    if forward_of(model) is None:
        raise TypeError(f"a {type(model).__name__} is no model of NumPy; it needs a method __call__ or forward")
    own = _copied(model)
    held, objects = _walked(own)

    def call(model: Any, *inputs: Any, **keywords: Any) -> Any:
        forward = forward_of(model)
        assert forward is not None
        return forward(*inputs, **keywords)

    return Program(forward_of(own) or call, 0, held, objects, [own], call)


def _pair(function: Callable[..., Any], parameters: Any) -> Program:
    """Return the program of a function that takes its parameters first, or by name after the inputs."""
    held, objects = _walked(parameters)
    by_name = isinstance(parameters, Mapping) and set(parameters) <= set(_arguments(function)[1:])

    def call(parameters: Any, *inputs: Any, **keywords: Any) -> Any:
        return function(*inputs, **parameters, **keywords) if by_name else function(parameters, *inputs, **keywords)

    called = _inputs_of(function, parameters, call) if by_name else function
    return Program(called, 0 if by_name else 1, held, objects, [parameters], call)


def _inputs_of(
    function: Callable[..., Any], parameters: Mapping[str, Any], call: Callable[..., Any]
) -> Callable[..., Any]:
    """Return a function of the inputs alone, whose signature lacks the parameters."""

    def called(*inputs: Any, **keywords: Any) -> Any:
        return call(parameters, *inputs, **keywords)

    signature = inspect.signature(function)
    own = [one for name, one in signature.parameters.items() if name not in parameters]
    called.__signature__ = signature.replace(parameters=own)  # type: ignore[attr-defined]
    return called


def _copied(model: Any) -> Any:
    """Return a copy of a model, so that nothing that a pass does reaches the user's; modules are not copied."""
    memory: dict[int, Any] = {}
    # What is inside comes first, so that it is known where what holds it is copied.
    for leaf in reversed(list(_others(model, set()))):
        memory[id(leaf)] = leaf if isinstance(leaf, ModuleType) else _copied_mapping(leaf, memory)
    return copy.deepcopy(model, memory)


def _copied_mapping(mapping: dict[Any, Any], memory: dict[int, Any]) -> Any:
    """Return a copy of a dictionary whose class answers for no attribute that it does not hold."""
    made = type(mapping).__new__(type(mapping))
    memory[id(mapping)] = made
    dict.update(made, {key: copy.deepcopy(value, memory) for key, value in mapping.items()})
    return made


def _cannot_be_copied(node: Any) -> bool:
    """Return whether a dictionary looks up what Python asks it for, as attributes, among its keys."""
    try:
        getattr(node, "__deepcopy__", None)
    except Exception:
        return isinstance(node, dict)
    return False


def _others(node: Any, seen: set[int]) -> Iterator[Any]:
    """Yield what a model holds and what cannot be copied, such as a module."""
    if id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, ModuleType) or _cannot_be_copied(node):
        yield node
    for _, member in _members(node):
        yield from _others(member, seen)


def _arguments(function: Callable[..., Any]) -> list[str]:
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return []


def _walked(root: Any) -> tuple[tuple[Held, ...], dict[int, tuple[str, Any]]]:
    """Return the arrays in an object or a tree, and the objects that it is made of with their paths."""
    held: dict[int, Held] = {}
    objects: dict[int, tuple[str, Any]] = {}

    def walk(node: Any, path: str, depth: int) -> None:
        if isinstance(node, np.ndarray):
            known = held.setdefault(id(node), Held(node, ()))
            known.names = (*known.names, path or "parameters")
            return
        if id(node) in objects or depth > _DEEPEST:
            return
        if _is_own_object(node):
            objects[id(node)] = (path, node)
        for key, member in _members(node):
            walk(member, f"{path}.{key}" if path else str(key), depth + 1)

    walk(root, "", 0)
    _mark_gradients(list(held.values()))
    return tuple(held.values()), objects


def _mark_gradients(held: Sequence[Held]) -> None:
    """Mark the arrays whose names are those of gradients of others: a backward pass writes them, and nothing reads."""
    for one in held:
        paths = list(filter(may_be_gradient, one.names))
        alike = (other for other in held if paths and other is not one and other.array.shape == one.array.shape)
        one.is_gradient = any(is_beside(path, name) for other in alike for path in paths for name in other.names)


def _is_own_object(node: Any) -> bool:
    """Return whether an object is of a class of the user's, and so may hold arrays in its attributes."""
    package = type(node).__module__.partition(".")[0]
    return (
        hasattr(node, "__dict__")
        and package not in ("numpy", "builtins", "types")
        and not isinstance(node, type | ModuleType)
    )


def _members(node: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(node, Mapping):
        yield from list(node.items())
    elif isinstance(node, list | tuple):
        yield from list(enumerate(node))
    elif _is_own_object(node):
        yield from list(vars(node).items())


def arrays_by_path(root: Any) -> dict[str, Array]:
    """Return the arrays of floating-point numbers in an object or a tree, under each of their names."""
    return {name: one.array for one in _walked(root)[0] if is_floating(one.array.dtype) for name in one.names}


def arrays_in(tree: Any) -> list[Array]:
    """Return the arrays in what a model takes or returns, in order."""
    if isinstance(tree, np.ndarray):
        return [tree]
    if isinstance(tree, Mapping):
        return [array for value in tree.values() for array in arrays_in(value)]
    if isinstance(tree, list | tuple):
        return [array for value in tree for array in arrays_in(value)]
    return []
