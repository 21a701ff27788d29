"""Arrays that are made from NumPy's and read back as NumPy's, each time by a copy: what such frameworks share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from veriformer.adapters.arrays import DTYPES
from veriformer.adapters.errors import LoadError, NotDifferentiable
from veriformer.adapters.numpy_arrays import target_dtype, widened


class ForeignArrays(ABC):
    """The arrays of a framework on one device; `device` is None for the framework's own choice.

    What a framework adds: how an array is made and read, and what is an array. Unless it says otherwise its arrays do
    not change, have no strides, and record no gradients.
    """

    name: str
    compiles_per_shape = False
    differentiates = False

    def __init__(self, device: Any = None) -> None:
        self.device = device

    @property
    def dtypes(self) -> tuple[str, ...]:
        """float16, bfloat16, float32 and float64."""
        return DTYPES

    def on(self, device: str) -> Self:
        """Return the arrays of a device; LoadError where there is none of that name."""
        return type(self)(self._device_called(device))

    def missing_dtype(self, dtype: str) -> str:
        """Return why the framework lacks `dtype`."""
        return f"{self.name} has no {dtype} here; its dtypes are {', '.join(self.dtypes)}"

    def from_numpy(self, array: np.ndarray, dtype: str | None = None) -> Any:
        """Return a new array in `dtype`, bool or int64."""
        target = target_dtype(self, array, dtype)
        # NumPy has no bfloat16, and float32 has all its values.
        own = "float32" if target == "bfloat16" else target
        return self._made(np.array(array, dtype=own, order="C", copy=True), target)

    def to_numpy(self, value: Any) -> np.ndarray:
        """Return a copy as float64, bool or int64."""
        return widened(self._read(value))

    def overwrite(self, array: Any, values: Any) -> None:
        """Do nothing: the arrays do not change."""
        return

    @abstractmethod
    def is_array(self, value: Any) -> bool:
        """Return whether `value` is an array of this framework."""

    def dtype_name(self, value: Any) -> str:
        """Return the dtype's name: the last part of what it is written as."""
        return str(value.dtype).rpartition(".")[2]

    def strided(self, array: Any) -> Any:
        """Return the array as it is: the framework shows no strides."""
        return array

    def call(self, function: Callable[..., Any], positional: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Call on this device."""
        return function(*positional, **keywords)

    def vector_jacobian_product(
        self,
        function: Callable[..., Any],
        arguments: tuple[Any, ...],
        cotangents: tuple[Any, ...],
        differentiated: tuple[int, ...],
    ) -> tuple[Any, ...]:
        """Refuse: nothing is recorded that could be differentiated."""
        raise NotDifferentiable(f"{self.name} is not differentiated here; write the backward pass by hand")

    def use_one_thread(self) -> None:
        """Do nothing: the framework's threads are fixed before it computes."""
        return

    def _device_called(self, device: str) -> Any:
        """Return what the framework calls a device; LoadError where there is none."""
        raise LoadError(f"{self.name} has no device {device!r} here; leave device out")

    @abstractmethod
    def _made(self, array: np.ndarray, dtype: str) -> Any:
        """Return a new array in `dtype` with the values of one that nothing else refers to."""

    @abstractmethod
    def _read(self, value: Any) -> np.ndarray:
        """Return an array's values as NumPy's, in a dtype that NumPy has and that holds them."""
