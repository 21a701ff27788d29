"""Which framework's arrays a value holds, and which frameworks a program uses; nothing is imported to tell."""

from __future__ import annotations

import inspect
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from types import CodeType, ModuleType
from typing import Any

from veriformer.adapters.arrays import FRAMEWORKS

# Packages whose arrays are another one's.
_ARRAYS_OF = {
    **{name: name for name in FRAMEWORKS},
    **dict.fromkeys(("jaxlib", "flax", "equinox", "haiku", "optax"), "jax"),
    **dict.fromkeys(("torchvision", "transformers"), "torch"),
    "mlx_lm": "mlx",
    "cupyx": "cupy",
}


def framework_of(value: object) -> str | None:
    """Return whose array a value is, or those that a tuple, list, mapping or object with attributes holds.

    NumPy's own come last, beside those of another framework. None where there are no arrays; "numpy" for an array of an
    unknown type that NumPy can read.
    """
    if (own := _framework_of_array(value)) is not None:
        return own
    found = {_framework_of_array(part) for part in _parts(value)} - {None}
    return next((name for name in _numpy_last(FRAMEWORKS) if name in found), None)


def frameworks_used(program: object) -> tuple[str, ...]:
    """Return the frameworks that a module uses, or what a function, a class or an object is written with.

    These are the frameworks of the modules, classes, functions and objects that are bound in its module, or that its
    functions import: first those that its code mentions most, NumPy last.
    """
    program = _written(program)
    bound = vars(program) if isinstance(program, ModuleType) else _globals_of(program)
    mentioned = Counter(name for code in _codes(program) for name in _names(code))
    own = None if isinstance(program, ModuleType) else framework_behind(program)
    # A framework's own function, class or object.
    weights: Counter[str] = Counter({own: sys.maxsize} if own is not None else {})
    for name, value in bound.items():
        if (framework := framework_behind(value)) is not None:
            weights[framework] += 1 + mentioned[name] * (len(bound) + 1)
    for name, count in mentioned.items():
        # What a function imports for itself is bound nowhere.
        if name not in bound and (framework := _framework_called(name)) is not None:
            weights[framework] += count
    return tuple(_numpy_last(framework for framework, _ in weights.most_common()))


def framework_behind(value: object) -> str | None:
    """Return the framework that a module, class or function belongs to, or the class of an object."""
    if isinstance(value, ModuleType):
        return _framework_called(value.__name__)
    own = getattr(value, "__module__", None) if isinstance(value, type) or callable(value) else None
    # What is written in C has no module, and may be bound to a class that has one.
    owner = getattr(value, "__self__", None)
    owner = owner if isinstance(owner, type) else type(owner)
    places = (own, type(value).__module__, owner.__module__)
    return next((found for place in places if (found := _framework_called(place)) is not None), None)


def _framework_of_array(value: object) -> str | None:
    kind = type(value)
    if _has(kind, "shape") and _has(kind, "dtype"):
        for base in kind.__mro__:
            if (framework := _framework_called(base.__module__)) is not None:
                return framework
    # A class has these methods for its instances.
    return "numpy" if _has(kind, "__dlpack__") or _has(kind, "__array__") else None


def _has(kind: type, name: str) -> bool:
    return any(name in vars(base) for base in kind.__mro__)


def _parts(value: object) -> Iterable[object]:
    if isinstance(value, tuple | list):
        return value
    if isinstance(value, Mapping):
        return value.values()
    attributes = getattr(value, "__dict__", {})
    return [] if isinstance(value, type | ModuleType) or callable(value) else list(attributes.values())


def _framework_called(module: object) -> str | None:
    """Return the framework of a module's name: "jax" for "jaxlib._jax"; that of its backend for Keras's."""
    root = str(module).partition(".")[0]
    if root == "keras":
        return _backend_of_keras()
    return _ARRAYS_OF.get(root)


def _backend_of_keras() -> str | None:
    try:
        name: str = sys.modules["keras"].backend.backend()
    except (KeyError, AttributeError):
        return None
    return _ARRAYS_OF.get(name)


def _written(program: object) -> object:
    """Return the function within a partial, a bound method, or what a decorator or a compiler has wrapped."""
    for _ in range(8):
        inner = program.func if isinstance(program, partial) else getattr(program, "__func__", None)
        inner = inner or getattr(program, "__wrapped__", None) or getattr(program, "python_function", None)
        if inner is None or inner is program:
            break
        program = inner
    return program


def _globals_of(program: object) -> Mapping[str, Any]:
    if inspect.isfunction(program):
        return {**program.__globals__, **_enclosed(program)}
    kind = program if isinstance(program, type) else type(program)
    home = sys.modules.get(kind.__module__)
    # A class of a file that was loaded under a name of its own has its globals in its methods alone.
    own = next((method.__globals__ for method in vars(kind).values() if inspect.isfunction(method)), None)
    return own if own is not None else vars(home) if home is not None else {}


def _enclosed(function: Any) -> dict[str, Any]:
    """Return the variables of the functions around a function that have values by now."""
    found = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):
            found[name] = cell.cell_contents
    return found


def _codes(program: object) -> Iterator[CodeType]:
    """Yield the code of a function, or of all functions and methods that a module or a class defines."""
    if inspect.isfunction(program):
        yield program.__code__
        return
    kind = program if isinstance(program, type | ModuleType) else type(program)
    for member in list(vars(kind).values()):
        defined = _written(member)
        if inspect.isfunction(defined):
            yield defined.__code__
        elif isinstance(defined, type) and isinstance(kind, ModuleType) and defined.__module__ == kind.__name__:
            yield from _codes(defined)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    yield from code.co_freevars
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _numpy_last(names: Iterable[str]) -> list[str]:
    return sorted(names, key=lambda name: name == "numpy")
