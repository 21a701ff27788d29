"""What an operation returned, as NumPy values that can be judged."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from veriformer.adapters.arrays import DTYPES, ArrayFramework
from veriformer.adapters.errors import UnjudgeableResult, describe

_INTEGERS = frozenset(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
_JUDGEABLE = frozenset({*DTYPES, *_INTEGERS, "bool", "longdouble", "float96", "float128"})


@dataclass(frozen=True)
class Result:
    """A result: its values as float64, bool or int64, and the dtype in which the framework returned them."""

    value: np.ndarray
    dtype: str

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the values."""
        return tuple(self.value.shape)


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
        return Result(framework.to_numpy(returned), dtype)
    except Exception as error:
        message = f"{_noun(framework)} that cannot be read ({describe(error)})"
        raise UnjudgeableResult(operation, message, expected) from error


def _noun(framework: ArrayFramework) -> str:
    return f"a {framework.name} {'tensor' if framework.name == 'torch' else 'array'}"


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
    return kind.__qualname__ if package == "builtins" else f"{package} {kind.__qualname__}"
