"""Calling an operation of an implementation: NumPy in, NumPy out, in the implementation's layout and polarity."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from veriformer.adapters.errors import (
    AdapterError,
    DifferentiationRefused,
    OperationRaised,
    UnjudgeableResult,
    describe,
)
from veriformer.adapters.implementation import Implementation
from veriformer.adapters.results import OPAQUE, Result, Shape, read_results
from veriformer.adapters.weights import arrays_in, convert_weights, names_like, plain_weights
from veriformer.spec.operations import OPERATIONS, Operation

__all__ = ["Call", "OneCall", "OperationRaised", "PreparedCall", "Result", "UnjudgeableResult", "prepare"]

_HEADS_AND_LENGTH = (0, 2, 1, 3)
# A configuration has no arrays, and a cache is what the implementation itself returned.
_AS_GIVEN = ("configuration", "cache")


Answer = TypeVar("Answer")


class Call(Protocol):
    """A prepared call, or a chain of calls, here or in a worker."""

    def run(self, expected_shapes: Sequence[Shape] | None = None) -> Result:
        """Make the call; see `PreparedCall.run`."""

    def arguments_now(self) -> dict[str, np.ndarray]:
        """Return the present values of the framework's arrays."""


class OneCall(Call, Protocol):
    """One prepared call, here or in a worker."""

    def run_again_on(self, other: Any, expected_shapes: Sequence[Shape] | None = None) -> tuple[Result, Result, Result]:
        """Make the call twice on the same arrays; see `PreparedCall.run_again_on`."""


@dataclass(frozen=True)
class PreparedCall:
    """An operation and its arguments as the framework's own arrays; the call can be repeated on them."""

    implementation: Implementation
    operation: Operation
    framework_arguments: Mapping[str, Any]
    layout: str = "bhld"

    def run(self, expected_shapes: Sequence[Shape] | None = None) -> Result:
        """Call the operation and return its result in the canonical layout.

        `expected_shapes` are canonical too, one for each array that is returned, and only complete an error's sentence;
        a result of another shape is returned like any other.
        OperationRaised when the operation ends with an exception (SystemExit and its like too; KeyboardInterrupt
        passes), UnjudgeableResult when it returns no array of its framework with real numbers or bool in it,
        WrongFramework when it has never answered and does so with another framework's arrays.
        """
        return self._first_answer(lambda: self._read(self._returned(), expected_shapes))

    def run_again_on(
        self, other: PreparedCall, expected_shapes: Sequence[Shape] | None = None
    ) -> tuple[Result, Result, Result]:
        """Make the call, overwrite its arrays with those of `other` by the same names, and make it again.

        Arrays that have another shape in `other`, or are missing there, stay. Returns the first result as read at once,
        the contents of the same object afterwards, and the second result. Raises what `run` raises.
        """
        returned, first = self._first_answer(lambda: self._kept_and_read(expected_shapes))
        self._overwrite_with(other)
        _, second = self._kept_and_read(expected_shapes)
        return first, self._read(returned, expected_shapes), second

    def _overwrite_with(self, other: PreparedCall) -> None:
        values = other._arrays()
        for name, own in self._arrays().items():
            try:
                if name in values and tuple(values[name].shape) == tuple(own.shape):
                    self.implementation.framework.overwrite(own, values[name])
            except Exception as error:
                # An operation may do anything to an argument; another law is about that.
                raise self._unreadable(error) from error

    def _kept_and_read(self, expected_shapes: Sequence[Shape] | None) -> tuple[object, Result]:
        returned = self._returned()
        return returned, self._read(returned, expected_shapes)

    def _first_answer(self, answer: Callable[[], Answer]) -> Answer:
        """Return an answer; if an operation has never given one, test which framework's arrays it takes."""
        taken, name = self.implementation.arrays_taken, self.operation.name
        taken.refuse(self.implementation.derived.get(name, name))
        try:
            answered = answer()
        except (OperationRaised, UnjudgeableResult) as error:
            if name not in self.implementation.derived:
                function = self.implementation.operations[name]
                with self.implementation.importing():
                    taken.doubt(name, self.implementation.framework, function, *self._split(), error)
            raise
        taken.answered.add(name)
        return answered

    def _split(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments by position and those by name."""
        arguments = dict(self.framework_arguments)
        return tuple(arguments.pop(name, None) for name in self.operation.positional), arguments

    def _read(self, returned: object, expected_shapes: Sequence[Shape] | None) -> Result:
        parts = self._parts_with_layout
        shapes = [_exchanged(s, m) for s, m in zip(expected_shapes, parts, strict=True)] if expected_shapes else None
        given = self.framework_arguments
        read, opaque = read_results(self.implementation.framework, self.operation, returned, shapes, given)
        canonical = [_canonical(result, moved) for result, moved in zip(read, parts, strict=True)]
        return Result.joined(canonical, opaque) if self.operation.results else canonical[0]

    def arguments_now(self) -> dict[str, np.ndarray]:
        """Return the present values of the framework's arrays, as handed over, weights as "weights.w_q".

        Two readings around a call differ when the operation changed its inputs. Arrays that it deleted, or removed
        from the weights, are missing. AdapterError when the weights cannot be read.
        """
        read: dict[str, np.ndarray] = {}
        for name, array in self._arrays().items():
            with suppress(Exception):
                read[name] = self.implementation.framework.to_numpy(array)
        return read

    def _arrays(self) -> dict[str, Any]:
        """Return the framework's arrays among the arguments, weights as "weights.w_q"."""
        try:
            return {
                name: array
                for argument, value in self.framework_arguments.items()
                for name, array in arrays_in(argument, value, self.implementation.framework.is_array)
            }
        except Exception as error:
            raise self._unreadable(error) from error

    def _unreadable(self, error: Exception) -> AdapterError:
        return AdapterError(
            f"{self.operation.name} left its arguments so that they cannot be read or written ({describe(error)}); "
            "leave them as they are"
        )

    @property
    def _parts_with_layout(self) -> list[bool]:
        """Return whether each returned array is laid out like the values."""
        if self.layout == "blhd" and _obeys_layout(self.operation):
            return list(self.operation.laid_out_results)
        if not self.operation.results:
            return [False]
        records = dict(self.operation.records)
        arrays = [name for name in self.operation.results if name not in OPAQUE and name not in records]
        return [False] * (len(arrays) + sum(self._arrays_of(argument) for argument in records.values()))

    def _arrays_of(self, argument: str) -> int:
        is_array = self.implementation.framework.is_array
        return len(names_like(argument, self.framework_arguments[argument], is_array))

    def _returned(self) -> object:
        positional, arguments = self._split()
        function = self.implementation.operations[self.operation.name]
        try:
            with self.implementation.importing():
                return self.implementation.framework.call(function, positional, arguments)
        except (KeyboardInterrupt, DifferentiationRefused):
            raise
        except BaseException as error:
            raise OperationRaised(self.operation.name, error) from error


def _exchanged(shape: Shape, moved: bool) -> Shape:
    return tuple(shape[axis] for axis in _HEADS_AND_LENGTH) if moved and len(shape) == 4 else shape


def _canonical(result: Result, moved: bool) -> Result:
    if not moved or result.value.ndim != 4:
        return result
    return Result.of(np.ascontiguousarray(result.value.transpose(_HEADS_AND_LENGTH)), result.dtype)


def prepare(
    implementation: Implementation,
    operation: str,
    arguments: Mapping[str, Any],
    *,
    dtype: str,
    layout: str = "bhld",
    mask_polarity: str = "true_attends",
    strided: bool = False,
) -> OneCall:
    """Convert canonical arguments to those of the implementation, in its worker if it has one.

    `arguments` has the interface's names: NumPy arrays (float64 values that `dtype` represents exactly, bool, int),
    Python scalars, weights (an object with attributes or a mapping, see `convert_weights`). A keyword that is None is
    left out. The layout "blhd" exchanges the heads' and the lengths' axes of query, key, value and result, the
    polarity "true_is_masked" inverts `mask`; nothing else is touched. With `strided` every array is a view with
    gaps, where the framework has such views. One array given twice, as x and context, is handed over as one array.
    KeyError when the implementation lacks the operation or the operation lacks an argument of that name; ValueError
    when a required one is missing or a convention's value unknown; UnsupportedDtype when the framework lacks `dtype`.
    """
    settings: dict[str, Any] = {"layout": layout, "mask_polarity": mask_polarity, "strided": strided}
    if implementation.residence is None:
        return prepare_here(implementation, operation, arguments, dtype=dtype, **settings)
    specification, given = _checked(implementation, operation, arguments, layout, mask_polarity)
    request = {"operation": operation, "arguments": plain_arguments(specification, given), "dtype": dtype, **settings}
    return implementation.residence.call(operation, request)


def prepare_here(
    implementation: Implementation,
    operation: str,
    arguments: Mapping[str, Any],
    *,
    dtype: str,
    layout: str = "bhld",
    mask_polarity: str = "true_attends",
    strided: bool = False,
) -> PreparedCall:
    """Convert canonical arguments in this process; as `prepare` of an implementation that lives here."""
    specification, given = _checked(implementation, operation, arguments, layout, mask_polarity)
    convert = _converter(implementation, dtype, strided)
    moved = _moved(specification, given, layout, mask_polarity)
    converted = {name: handed_over(specification, name, value, convert) for name, value in moved.items()}
    return PreparedCall(implementation, specification, converted, layout)


def _checked(
    implementation: Implementation, operation: str, arguments: Mapping[str, Any], layout: str, mask_polarity: str
) -> tuple[Operation, dict[str, Any]]:
    """Return the operation and the arguments that are given; KeyError and ValueError as `prepare`."""
    if not implementation.declares(operation):
        raise KeyError(f"{implementation.name} does not declare {operation}")
    _check_conventions(layout, mask_polarity)
    specification = OPERATIONS[operation]
    given = {name: value for name, value in arguments.items() if value is not None}
    _check_names(specification, given)
    return specification, given


def _check_conventions(layout: str, mask_polarity: str) -> None:
    if layout not in ("bhld", "blhd"):
        raise ValueError(f"layout is {layout!r}; it is 'bhld' or 'blhd'")
    if mask_polarity not in ("true_attends", "true_is_masked"):
        raise ValueError(f"mask_polarity is {mask_polarity!r}; it is 'true_attends' or 'true_is_masked'")


def _check_names(operation: Operation, given: Mapping[str, Any]) -> None:
    for name in given:
        operation.parameter(name)
    required = [p.name for p in operation.parameters if p.requirement != "feature"]
    # A cache of None starts a sequence.
    missing = [name for name in required if name not in given and operation.parameter(name).kind != "cache"]
    if missing:
        raise ValueError(f"{operation.name} needs {', '.join(missing)}; received {', '.join(given) or 'nothing'}")


def _converter(implementation: Implementation, dtype: str, strided: bool) -> Callable[[np.ndarray], Any]:
    framework = implementation.framework
    # An array that is handed over twice arrives as one array: self-attention has code paths of its own.
    converted: dict[int, tuple[np.ndarray, Any]] = {}

    def convert(array: np.ndarray) -> Any:
        if id(array) not in converted:
            own = framework.from_numpy(array, dtype)
            converted[id(array)] = (array, framework.strided(own) if strided else own)
        return converted[id(array)][1]

    return convert


def _moved(operation: Operation, given: Mapping[str, Any], layout: str, mask_polarity: str) -> dict[str, Any]:
    moved = dict(given)
    if layout == "blhd" and _obeys_layout(operation):
        laid_out = (parameter.name for parameter in operation.parameters if parameter.is_laid_out)
        moved |= {name: given[name].transpose(_HEADS_AND_LENGTH) for name in laid_out if name in given}
    if mask_polarity == "true_is_masked" and "mask" in given:
        moved["mask"] = ~given["mask"]
    return moved


def handed_over(operation: Operation, name: str, value: Any, convert: Callable[[np.ndarray], Any]) -> Any:
    """Return an argument as an implementation is given it: its arrays converted, NumPy's scalars as Python's."""
    kind = operation.parameter(name).kind
    if kind == "weights":
        return convert_weights(value, convert)
    if kind in _AS_GIVEN:
        return value
    if isinstance(value, np.ndarray):
        return convert(value)
    return value.item() if isinstance(value, np.generic) else value


def plain_arguments(operation: Operation, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments of which no weights are objects of the suite's own."""
    return {
        name: plain_weights(value) if operation.parameter(name).kind == "weights" else value
        for name, value in given.items()
    }


def _obeys_layout(operation: Operation) -> bool:
    """Return whether query, key, value and result change their axes' order together."""
    return "layout" in operation.conventions
