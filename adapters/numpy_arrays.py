"""NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any, Literal

import numpy as np
from veriformer.adapters.arrays import ArrayFramework
from veriformer.adapters.errors import LoadError, NotDifferentiable, UnsupportedDtype

_KINDS: dict[str, Literal["bool", "int", "float"]] = {"b": "bool", "i": "int", "u": "int", "f": "float"}
_SIMPLE_KINDS = {"b": np.bool_, "i": np.int64, "u": np.int64, "f": np.float64}
_ARRAYS = (np.ndarray, np.generic)


class NumPyArrays:
    """NumPy's arrays; bfloat16 is not among their dtypes."""

    name = "numpy"
    compiles_per_shape = False
    differentiates = False

    @property
    def dtypes(self) -> tuple[str, ...]:
        """float16, float32 and float64."""
        return ("float16", "float32", "float64")

    def on(self, device: str) -> NumPyArrays:
        """Return this; LoadError for anything but "cpu"."""
        if device != "cpu":
            raise LoadError(f"numpy has no device {device!r}; its arrays are on 'cpu'")
        return self

    def missing_dtype(self, dtype: str) -> str:
        """Return why NumPy lacks `dtype`."""
        return f"numpy has no {dtype}; its dtypes are {', '.join(self.dtypes)}"

    def from_numpy(self, array: np.ndarray, dtype: str | None = None) -> np.ndarray:
        """Return a copy in `dtype`, bool or int64."""
        return np.array(array, dtype=target_dtype(self, array, dtype), order="C", copy=True)

    def to_numpy(self, value: Any) -> np.ndarray:
        """Return a copy as float64, bool or int64."""
        return widened(np.asarray(value))

    def overwrite(self, array: np.ndarray, values: np.ndarray) -> None:
        """Write the values of another array over an array, if need be one that an operation has frozen."""
        if not array.flags.writeable:
            # A view of what is frozen itself stays so, and cannot be changed.
            with suppress(ValueError):
                array.setflags(write=True)
        if array.flags.writeable:
            array[...] = values

    def is_array(self, value: Any) -> bool:
        """Return whether `value` is an array or one of NumPy's own scalars."""
        return isinstance(value, _ARRAYS)

    def dtype_name(self, value: Any) -> str:
        """Return the dtype's name: that of the memory, whatever a subclass says of itself."""
        return _name(np.asarray(value).dtype)

    def strided(self, array: np.ndarray) -> np.ndarray:
        """Return a transposed view of every second element of a larger buffer."""
        view: np.ndarray = view_with_gaps(array, np.empty)
        return view

    def call(self, function: Callable[..., Any], positional: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Call without NumPy's warnings about NaN and infinity: results are judged by their values."""
        warned = {kind: "ignore" for kind, action in np.geterr().items() if action == "warn"}
        with np.errstate(**warned):  # type: ignore[arg-type]
            return function(*positional, **keywords)

    def vector_jacobian_product(
        self,
        function: Callable[..., Any],
        arguments: tuple[Any, ...],
        cotangents: tuple[Any, ...],
        differentiated: tuple[int, ...],
    ) -> tuple[Any, ...]:
        """Refuse: NumPy records nothing that could be differentiated."""
        raise NotDifferentiable("numpy has no automatic differentiation; write the backward pass by hand")

    def use_one_thread(self) -> None:
        """Do nothing: NumPy's threads are those of its BLAS, which are set before it is imported."""


@cache
def _name(dtype: np.dtype) -> str:
    return str(dtype.name)


def widened(array: np.ndarray) -> np.ndarray:
    """Return a copy as float64, bool or int64; TypeError for any other kind of element."""
    target = _SIMPLE_KINDS.get(array.dtype.kind)
    if target is None:
        raise TypeError(f"{array.dtype.name} is neither floating-point, integer nor bool")
    return array.astype(target, order="C", copy=True)


def target_dtype(framework: ArrayFramework, array: np.ndarray, dtype: str | None) -> str:
    """Return the name of the dtype that an argument has in a framework: `dtype`, bool or int64.

    Raises: as `checked_dtype`, and TypeError for any other kind of element.
    """
    kind = simple_kind(array)
    if kind != "float":
        return "bool" if kind == "bool" else "int64"
    return checked_dtype(dtype, framework.dtypes, framework.missing_dtype)


def simple_kind(array: np.ndarray) -> Literal["bool", "int", "float"]:
    """Return which of the three kinds of argument an array is; TypeError for any other kind of element."""
    kind = _KINDS.get(array.dtype.kind)
    if kind is None:
        raise TypeError(f"an argument must be float, int or bool, not {array.dtype.name}")
    return kind


def checked_dtype(dtype: str | None, dtypes: tuple[str, ...], missing: Callable[[str], str]) -> str:
    """Return `dtype` when the framework has it; UnsupportedDtype when not, ValueError when it is None."""
    if dtype is None:
        raise ValueError("a floating-point array needs a dtype")
    if dtype not in dtypes:
        raise UnsupportedDtype(missing(dtype))
    return dtype


def view_with_gaps(array: Any, empty: Callable[..., Any]) -> Any:
    """Return a transposed view of every second element of a larger buffer, which `empty` makes."""
    if array.ndim == 0 or array.size == 0:
        return array
    turned = array.T
    buffer = empty((*turned.shape[:-1], 2 * turned.shape[-1]), dtype=array.dtype)
    buffer[..., 1::2] = _between(turned)
    buffer[..., ::2] = turned
    return buffer[..., ::2].T


def _between(array: Any) -> Any:
    if array.dtype.kind == "b":
        return ~array
    return np.nan if array.dtype.kind == "f" else -1


FRAMEWORK = NumPyArrays()
