"""The description of an implementation in a worker: what the suite must know of it."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from inspect import Parameter, Signature
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any, cast

from veriformer.adapters import declarations
from veriformer.adapters.arrays import DTYPES, FRAMEWORKS, ArrayFramework
from veriformer.adapters.errors import LoadError
from veriformer.adapters.implementation import Implementation
from veriformer.adapters.isolation.messages import visible
from veriformer.spec.operations import OPERATIONS

_NAMES_OF_MODELS = ("properties", "parameters")
_KINDS = {kind.name: kind for kind in inspect._ParameterKind}


@dataclass(frozen=True)
class FrameworkElsewhere:
    """The framework that a worker has imported; its arrays never leave the worker."""

    name: str
    dtypes: tuple[str, ...]
    compiles_per_shape: bool
    differentiates: bool
    missing: Mapping[str, str] = field(default_factory=dict)

    def missing_dtype(self, dtype: str) -> str:
        """Return why the framework lacks `dtype`."""
        return self.missing.get(dtype, f"{self.name} has no {dtype}; its dtypes are {', '.join(self.dtypes)}")

    def use_one_thread(self) -> None:
        """Do nothing: the worker has done so."""


class OperationElsewhere:
    """An operation in a worker: its signature, and that of its `forward` if it has one."""

    def __init__(self, name: str, description: Any) -> None:
        self._name = name
        self._parameters = description["parameters"]
        self.stands_for_class = bool(description["class"])
        if description["forward"] is not None:
            self.forward = OperationElsewhere(name, description["forward"])
        if self._parameters is not None:
            _ = self.__signature__

    @property
    def __signature__(self) -> Signature:
        if self._parameters is None:
            raise ValueError(f"{self._name} has no signature that can be read")
        return Signature([_parameter(*description) for description in self._parameters])

    def __call__(self, *_: Any, **__: Any) -> Any:
        """Raise TypeError: the operation can be called in its worker only."""
        raise TypeError(f"{self._name} is in another process; it is called through prepare()")


def described(implementation: Implementation) -> dict[str, Any]:
    """Return what the suite must know of an implementation, as JSON."""
    framework = implementation.framework
    return {
        "name": implementation.name,
        "framework": {
            "name": framework.name,
            "dtypes": framework.dtypes,
            "compiles_per_shape": framework.compiles_per_shape,
            "differentiates": framework.differentiates,
            "missing": {name: framework.missing_dtype(name) for name in DTYPES if name not in framework.dtypes},
        },
        "operations": {name: _signatures(function) for name, function in implementation.operations.items()},
        "conventions": dict(implementation.conventions),
        "dtypes": implementation.dtypes,
        "limitations": implementation.limitations,
        "fixed_values": dict(implementation.fixed_values),
        "architectures": {name: list(those) for name, those in implementation.architectures.items()},
        "black_box": asdict(implementation.black_box) if implementation.black_box else None,
        "source": implementation.source,
        "files": implementation.files,
        "notices": implementation.notices,
        "derived": dict(implementation.derived),
        "taken_as": dict(implementation.taken_as),
        "not_judged": dict(implementation.not_judged),
        "judged_alone": implementation.judged_alone,
        "rearranged_with": {name: list(those) for name, those in implementation.rearranged_with.items()},
        "one_by_one": implementation.one_by_one,
        "is_declared": implementation.is_declared,
    }


def described_implementation(description: Any, target: str) -> Implementation:
    """Return the implementation that a worker describes; LoadError if the description is invalid."""
    try:
        return _implementation(description, target)
    except LoadError:
        raise
    except Exception as error:
        raise LoadError(
            f"{target}: its process does not describe it properly; correct what it does to that process"
        ) from error


def _implementation(description: dict[str, Any], target: str) -> Implementation:
    framework = _framework(description["framework"])
    box = description["black_box"] or {}
    inputs = {name: value for name, value in box.items() if name not in _NAMES_OF_MODELS and value is not None}
    # Read like the declarations of an object, so that they are checked in the same way.
    found = SimpleNamespace(
        conventions=description["conventions"],
        limitations=description["limitations"],
        fixed_values=description["fixed_values"],
        architectures=description["architectures"],
        dtypes=description["dtypes"],
        model_inputs=inputs or None,
        model_properties=box.get("properties"),
        model_parameters=box.get("parameters"),
    )
    return Implementation(
        name=target,
        framework=framework,
        operations=MappingProxyType(
            {
                name: OperationElsewhere(name, description["operations"][name])
                for name in OPERATIONS
                if name in description["operations"]
            }
        ),
        source=None if description["source"] is None else visible(description["source"]),
        files=tuple(str(file) for file in description["files"] if Path(str(file)).is_file()),
        notices=tuple(visible(notice) for notice in description["notices"]),
        derived={
            str(name): str(origin)
            for name, origin in description["derived"].items()
            if {name, origin} <= set(OPERATIONS)
        },
        taken_as={visible(str(name)): visible(str(one)) for name, one in description["taken_as"].items()},
        not_judged={visible(str(name)): visible(str(why)) for name, why in description["not_judged"].items()},
        judged_alone=tuple(visible(str(name)) for name in description["judged_alone"]),
        rearranged_with={
            visible(str(name)): tuple(visible(str(one)) for one in those)
            for name, those in description["rearranged_with"].items()
        },
        one_by_one=tuple(str(name) for name in description["one_by_one"]),
        is_declared=bool(description["is_declared"]),
        **vars(declarations.read_declarations(found, target, framework)),
    )


def _framework(description: dict[str, Any]) -> ArrayFramework:
    if description["name"] not in FRAMEWORKS or not set(description["dtypes"]) <= set(DTYPES):
        raise ValueError("no such framework")
    missing = {name: visible(sentence) for name, sentence in description["missing"].items()}
    flags = bool(description["compiles_per_shape"]), bool(description["differentiates"])
    # Methods that need an array are called in the worker only.
    return cast(ArrayFramework, FrameworkElsewhere(description["name"], tuple(description["dtypes"]), *flags, missing))


def _signatures(function: Any) -> dict[str, Any]:
    forward = getattr(function, "forward", None)
    return {
        "parameters": _parameters(function),
        "class": inspect.isclass(function),
        "forward": {"parameters": _parameters(forward), "class": False, "forward": None} if callable(forward) else None,
    }


def _parameters(function: Any) -> list[tuple[str, str, bool]] | None:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    return [(one.name, one.kind.name, one.default is not Parameter.empty) for one in parameters]


def _parameter(name: str, kind: str, has_default: bool) -> Parameter:
    return Parameter(name, _KINDS[kind], default=None if has_default else Parameter.empty)
