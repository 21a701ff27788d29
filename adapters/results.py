"""The result of an operation, as NumPy values that can be judged.

A tuple is judged as one array too, with its parts concatenated in one axis, so that a law compares all kinds of results
in the same way; the shapes of the parts are kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from veriformer.adapters.arrays import DTYPES, ArrayFramework, noun
from veriformer.adapters.errors import UnjudgeableResult, describe
from veriformer.adapters.private_names import with_own_names
from veriformer.adapters.weights import member_at, names_like
from veriformer.spec.operations import Operation

_INTEGERS = frozenset(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
OPAQUE = ("cache",)
_JUDGEABLE = frozenset({*DTYPES, *_INTEGERS, "bool", "longdouble", "float96", "float128"})


Shape = tuple[int, ...]


@dataclass(frozen=True)
class Result:
    """A result: its values as float64, bool or int64, and the dtype in which the framework returned them.

    `shapes`: those of the parts of a tuple, which `value` has one after the other, or that of a single array.
    `opaque`: the parts that are passed on unchanged: a cache.
    """

    value: np.ndarray
    dtype: str
    shapes: tuple[Shape, ...]
    opaque: Mapping[str, object] = field(default_factory=dict)

    @property
    def shape(self) -> Shape:
        """The shape of the values."""
        return tuple(self.value.shape)

    @classmethod
    def of(cls, value: np.ndarray, dtype: str) -> Result:
        """Return the result that is one array."""
        return cls(value, dtype, (tuple(value.shape),))

    @classmethod
    def joined(cls, parts: Sequence[Result], opaque: Mapping[str, object]) -> Result:
        """Return the result with the given parts; different dtypes are all named."""
        dtype = ", ".join(dict.fromkeys(part.dtype for part in parts))
        shapes = tuple(shape for part in parts for shape in part.shapes)
        return cls(join([part.value for part in parts]), dtype, shapes, opaque)


def join(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Return the entries of several arrays one after the other, in one axis."""
    return np.concatenate([part.ravel() for part in parts])


def read_results(
    framework: ArrayFramework,
    operation: Operation,
    returned: object,
    expected: Sequence[Shape] | None,
    given: Mapping[str, Any] = MappingProxyType({}),
) -> tuple[list[Result], dict[str, object]]:
    """Return the arrays of what an operation returned, and its opaque parts by name.

    `given` are the arguments of the call: a result that is a record has an array for each of those in its argument.
    Where the result is a number made of numbers, one of Python's or NumPy's does too.
    UnjudgeableResult when it is no tuple of as many parts as the operation has, a record lacks an array, or as
    `read_result` says.
    """
    if operation.returns_number and _is_number(returned):
        return [Result.of(np.asarray(returned, dtype=np.float64), type(returned).__name__)], {}
    if not operation.results:
        return [read_result(framework, operation.name, returned, expected[0] if expected else None)], {}
    names = operation.results
    if len(names) == 1 and operation.records and not _holds_one_record(framework, returned):
        # A record alone, which may be a named tuple itself, or a tuple of arrays.
        returned = (returned,)
    if not isinstance(returned, tuple | list) or len(returned) != len(names):
        raise UnjudgeableResult(operation.name, _described(returned), f"a tuple of {len(names)}: {', '.join(names)}")
    parts = dict(zip(names, returned, strict=True))
    opaque = {name: parts.pop(name) for name in OPAQUE if name in parts}
    for record, argument in operation.records:
        names_of_arrays = names_like(record, given[argument], framework.is_array)
        parts |= _arrays_of(operation.name, record, parts.pop(record), given[argument], names_of_arrays)
    shapes: Sequence[Shape | None] = expected or [None] * len(parts)
    read = [
        read_result(framework, f"{operation.name}, its {name}", part, shape)
        for (name, part), shape in zip(parts.items(), shapes, strict=True)
    ]
    return read, opaque


def _is_number(returned: object) -> bool:
    return isinstance(returned, int | float | np.floating) and not isinstance(returned, bool)


def _holds_one_record(framework: ArrayFramework, returned: object) -> bool:
    """Return whether a result is a tuple of results that holds one record, which is no array itself."""
    return type(returned) is tuple and len(returned) == 1 and not framework.is_array(returned[0])


def _arrays_of(operation: str, name: str, record: object, argument: object, names: list[str]) -> dict[str, object]:
    """Return the arrays of a record, which is like an argument, by their dotted names."""
    if isinstance(argument, list) and not (isinstance(record, list | tuple) and len(record) == len(argument)):
        raise UnjudgeableResult(f"{operation}, its {name},", _described(record), f"a list of {len(argument)} arrays")
    found = {path: member_at(record, path.removeprefix(f"{name}.")) for path in names}
    missing = [path.removeprefix(f"{name}.") for path, array in found.items() if array is None]
    if missing:
        members = ", ".join(path.removeprefix(f"{name}.") for path in names)
        raise UnjudgeableResult(
            f"{operation}, its {name},",
            f"{_described(record)} without {', '.join(missing)}",
            f"an object with attributes, or a mapping, of {members}",
        )
    return found


def read_result(
    framework: ArrayFramework, operation: str, returned: object, expected_shape: tuple[int, ...] | None
) -> Result:
    """Return the values of what an operation returned.

    UnjudgeableResult when it is not an array of the framework, or its elements are neither real numbers nor bool.
    The shape is only for that error's sentence: a wrong shape is a result like another.
    """
    expected = _expected(framework, expected_shape)
    if not framework.is_array(returned):
        raise UnjudgeableResult(operation, _described(returned), expected)
    dtype = framework.dtype_name(returned)
    if dtype not in _JUDGEABLE:
        raise UnjudgeableResult(operation, f"an array of dtype {dtype}", f"{expected} of real numbers or bool")
    try:
        return Result.of(framework.to_numpy(returned), dtype)
    except Exception as error:
        message = f"{_noun(framework)} that cannot be read ({describe(error)})"
        raise UnjudgeableResult(operation, message, expected) from error


def _noun(framework: ArrayFramework) -> str:
    return f"a {noun(framework.name)}"


def _expected(framework: ArrayFramework, shape: tuple[int, ...] | None) -> str:
    return _noun(framework) if shape is None else f"{_noun(framework)} of shape {shape}"


def _described(returned: object) -> str:
    if returned is None:
        return "None"
    if isinstance(returned, tuple | list):
        return f"a {type(returned).__name__} of {len(returned)} things"
    if isinstance(returned, bool | int | float | complex):
        return f"the Python number {returned!r}"
    return f"a {_type_name(returned)}"


def _type_name(returned: object) -> str:
    kind = type(returned)
    package = kind.__module__.partition(".")[0]
    return kind.__qualname__ if package == "builtins" else f"{with_own_names(package)} {kind.__qualname__}"
