"""What objects, containers, partial functions and closures carry, and copies of them that carry something else."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from inspect import Parameter, Signature
from types import CellType, FunctionType, MethodType, ModuleType, SimpleNamespace
from typing import Any

DEEPEST = 12
"""Objects are looked into this deep: model, layers, layer, attention, weights, array, and some lists between."""
COMPILED = frozenset({"JitWrapped", "PjitFunction", "_JitWrapper"})
"""What decorators return that compile a function, and change nothing of what it computes."""
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


def is_of_own_class(kind: type) -> bool:
    """Return whether a class and all that it is derived from are the user's."""
    return not any(
        one.__module__.partition(".")[0] in _FOREIGN - {"builtins"} for one in kind.__mro__ if one is not object
    )


def is_own(node: Any) -> bool:
    """Return whether an object is a namespace or of a user's class, and so may hold arrays in its attributes."""
    if isinstance(node, SimpleNamespace):
        return True
    package = type(node).__module__.partition(".")[0]
    return hasattr(node, "__dict__") and package not in _FOREIGN and not isinstance(node, type | ModuleType)


def members_of(node: Any) -> Iterator[tuple[Any, Any]]:
    """Yield what is in a container, an own object, a partial function, a method or a closure, by its key or name."""
    if isinstance(node, Mapping):
        yield from list(node.items())
    elif isinstance(node, list | tuple):
        yield from enumerate(node)
    elif isinstance(node, functools.partial):
        yield from (("func", node.func), ("args", node.args), ("keywords", node.keywords))
    elif isinstance(node, MethodType):
        yield "self", node.__self__
    elif isinstance(node, FunctionType):
        yield from _closed_over(node)
    elif is_own(node):
        yield from list(vars(node).items())


def arrays_in(root: Any, is_array: Callable[[Any], bool]) -> dict[str, Any]:
    """Return the arrays of a kind in an object, by their paths; one at several paths under each."""
    found: dict[str, Any] = {}

    def walk(node: Any, path: str, above: tuple[int, ...]) -> None:
        if is_array(node):
            found[path] = node
            return
        if id(node) in above or len(above) > DEEPEST:
            return
        for key, member in members_of(node):
            walk(member, f"{path}.{key}" if path else str(key), (*above, id(node)))

    walk(root, "", ())
    return found


def by_short_paths(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return arrays by their paths without what all of these begin with, such as a closure's name."""
    pieces = [path.split(".") for path in found]
    shared = 0
    while len(found) > 1 and all(len(one) > shared + 1 for one in pieces) and len({one[shared] for one in pieces}) == 1:
        shared += 1
    return {".".join(path.split(".")[shared:]): array for path, array in found.items()}


def _closed_over(function: FunctionType) -> Iterator[tuple[str, Any]]:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:
            # A name that is not bound yet.
            continue


def applied_to_parameters(apply: Callable[..., Any], found: Any, inputs: Iterable[Parameter]) -> Callable[..., Any]:
    """Return a function of parameters and inputs with the signature and the name of what it does the work of."""
    # A name that no input has.
    first = Parameter("_parameters_of_the_model", Parameter.POSITIONAL_ONLY)
    own = [one.replace(annotation=one.empty) for one in inputs]
    apply.__signature__ = Signature([first, *own])  # type: ignore[attr-defined]
    apply.__name__ = getattr(found, "__name__", type(found).__name__)
    return apply


class Copy:
    """Copies containers, own objects, partial functions and closures, with other values in place of some.

    `values` are those by the identity of what they stand for.
    """

    def __init__(self, values: Mapping[int, Any]) -> None:
        self._values = values
        self._made: dict[int, Any] = {}

    def of(self, node: Any, depth: int = 0) -> Any:
        """Return the copy of a node, the same one for the same node."""
        if id(node) in self._values:
            return self._values[id(node)]
        if id(node) in self._made or depth > DEEPEST:
            return self._made.get(id(node), node)
        if isinstance(node, tuple):
            members = [self.of(member, depth + 1) for member in node]
            return type(node)(*members) if hasattr(node, "_fields") else type(node)(members)
        if isinstance(node, functools.partial):
            function, positional, keywords = (self.of(one, depth + 1) for one in (node.func, node.args, node.keywords))
            return functools.partial(function, *positional, **keywords)
        if isinstance(node, MethodType):
            return getattr(self.of(node.__self__, depth + 1), node.__name__)
        if isinstance(node, FunctionType):
            return self._function(node, depth)
        if type(node).__name__ in COMPILED and hasattr(node, "__wrapped__"):
            # What is recorded is not compiled, and what is compiled holds the arrays that it was made with.
            return self.of(node.__wrapped__, depth + 1)
        return self._changed_in_place(node, depth)

    def _changed_in_place(self, node: Any, depth: int) -> Any:
        """Return a copy of what can be changed: a dictionary, a list or an own object; anything else itself."""
        if not isinstance(node, Mapping | list) and not is_own(node):
            return node
        made = self._made[id(node)] = copy.copy(node)
        for key, member in members_of(node):
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
        cells = {name: CellType() for name in function.__code__.co_freevars}
        made = FunctionType(
            function.__code__, function.__globals__, function.__name__, function.__defaults__, tuple(cells.values())
        )
        made.__kwdefaults__ = function.__kwdefaults__
        # A function may be in its own closure.
        self._made[id(function)] = made
        for name, value in _closed_over(function):
            cells[name].cell_contents = self.of(value, depth + 1)
        return made
