"""The arrays within an object of TensorFlow, Keras, MLX or tinygrad, and calls with others in their places."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from veriformer.adapters.arrays import ArrayFramework
from veriformer.adapters.matching.namespaces import shape_of

FRAMEWORKS = ("tensorflow", "mlx", "tinygrad")
"""Those whose classes are judged in this way."""
_DEEPEST = 6
# The list in which Keras has all layers of one, some of which have names.
_ALL_LAYERS = "_layers"
# Linear layers of these hold their matrix as (out, in).
_TURNED = ("mlx", "tinygrad")
_LAYERS: Mapping[str, Sequence[tuple[str, str]]] = {
    "tensorflow": (("keras", "Layer"), ("tensorflow", "Module")),
    "mlx": (("mlx.nn", "Module"),),
}


@dataclass(frozen=True)
class Place:
    """An array within an object: the way to it by names, and how it is replaced.

    `turned` says that a linear layer of the framework holds it, as (out, in). `variable` is what Keras holds it in.
    """

    name: str
    value: Any
    put: Callable[[Any], None]
    turned: bool = False
    variable: Any = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return shape_of(self.value)


def places_in(made: Any, arrays: ArrayFramework) -> list[Place]:
    """Return the arrays of floating-point numbers within an object and its layers, each once."""
    return list(_Walk(type(made).__module__, arrays).of(made))


class _Walk:
    """A walk through an object and what it holds of its own file and of the framework's layers."""

    def __init__(self, home: str, arrays: ArrayFramework) -> None:
        self._home, self._arrays = home, arrays
        self._seen: set[int] = set()
        self._layers = tuple(
            known
            for module, kind in _LAYERS.get(arrays.name, ())
            if isinstance(known := getattr(sys.modules.get(module), kind, None), type)
        )
        self._keras_variable = getattr(sys.modules.get("keras"), "Variable", ())

    def of(self, made: Any, name: str = "", depth: int = 0) -> Iterator[Place]:
        """Yield the arrays in an object, a list or a mapping."""
        self._seen.add(id(made))
        for key, value, put in _members(made):
            # What a framework keeps for itself begins with an underscore, as the kernels of Keras do.
            called = f"{name}.{key.lstrip('_')}" if name else key.lstrip("_")
            if id(value) in self._seen or depth > _DEEPEST:
                continue
            if self._keras_variable and isinstance(value, self._keras_variable):
                self._seen.add(id(value))
                if "float" in str(value.dtype):
                    yield Place(called, value, put, variable=value)
            elif self._arrays.is_array(value):
                self._seen.add(id(value))
                if "float" in self._arrays.dtype_name(value):
                    yield Place(called, value, put, self._is_turned(made, key))
            elif isinstance(value, tuple):
                yield from self._in_tuple(value, put, called)
            elif self._is_looked_into(key, value):
                yield from self.of(value, called, depth + 1)

    def _in_tuple(self, values: tuple[Any, ...], put: Callable[[Any], None], name: str) -> Iterator[Place]:
        now = list(values)

        def at(number: int) -> Callable[[Any], None]:
            def put_one(value: Any) -> None:
                now[number] = value
                put(tuple(now))

            return put_one

        for number, value in enumerate(values):
            if self._arrays.is_array(value) and id(value) not in self._seen:
                self._seen.add(id(value))
                yield Place(f"{name}.{number}", value, at(number))

    def _is_turned(self, holder: Any, key: str) -> bool:
        root = type(holder).__module__.partition(".")[0]
        return root in _TURNED and key == "weight" and "Linear" in type(holder).__name__

    def _is_looked_into(self, key: str, value: Any) -> bool:
        if isinstance(value, self._layers) or type(value).__module__ == self._home:
            return not isinstance(value, type)
        of_tinygrad = type(value).__module__.startswith("tinygrad.nn")
        return of_tinygrad or (isinstance(value, list | dict) and (not key.startswith("_") or key == _ALL_LAYERS))


def _members(made: Any) -> Iterator[tuple[str, Any, Callable[[Any], None]]]:
    """Yield the members of an object by name, those of its user before those of its framework."""
    if isinstance(made, list):
        yield from ((str(number), value, _put_in(made, number)) for number, value in enumerate(made))
        return
    found = []
    if isinstance(made, dict):
        found += [(str(key), value, _put_in(made, key)) for key, value in made.items()]
    own = getattr(made, "__dict__", {})
    found += [(key, value, _put_in(own, key)) for key, value in own.items()]
    yield from sorted(found, key=lambda one: (one[0] == _ALL_LAYERS, one[0].startswith("_")))


def _put_in(holder: Any, key: Any) -> Callable[[Any], None]:
    def put(value: Any) -> None:
        if isinstance(holder, dict):
            dict.__setitem__(holder, key, value)
        else:
            list.__setitem__(holder, key, value)

    return put


@contextmanager
def holding(places: Sequence[Place], values: Sequence[Any]) -> Iterator[None]:
    """Put other arrays in these places for a while: gradients reach them, for none is copied into a variable."""
    variables = [(one.variable, value) for one, value in zip(places, values, strict=True) if one.variable is not None]
    plain = [(one, value) for one, value in zip(places, values, strict=True) if one.variable is None]
    with ExitStack() as stack:
        if variables:
            stack.enter_context(sys.modules["keras"].StatelessScope(state_mapping=variables))
        try:
            for place, value in plain:
                place.put(value)
            yield
        finally:
            for place, _ in plain:
                place.put(place.value)


@contextmanager
def uncompiled(framework: str) -> Iterator[None]:
    """Run compiled functions as they are written: what one was compiled with would be what every call has."""
    if framework != "tensorflow":
        yield
        return
    config = sys.modules["tensorflow"].config
    before = config.functions_run_eagerly()
    config.run_functions_eagerly(True)
    try:
        yield
    finally:
        config.run_functions_eagerly(before)
