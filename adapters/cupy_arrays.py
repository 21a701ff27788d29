"""CuPy's arrays, on the current CUDA device unless an implementation names another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cupy
import numpy as np
from veriformer.adapters.errors import LoadError, describe
from veriformer.adapters.foreign_arrays import ForeignArrays
from veriformer.adapters.numpy_arrays import view_with_gaps


class CuPyArrays(ForeignArrays):
    """CuPy's arrays on one device; bfloat16 is not among their dtypes."""

    name = "cupy"

    @property
    def dtypes(self) -> tuple[str, ...]:
        """float16, float32 and float64; none where there is no CUDA device."""
        return ("float16", "float32", "float64") if cupy.cuda.is_available() else ()

    def missing_dtype(self, dtype: str) -> str:
        """Return why cupy lacks `dtype`."""
        if self.dtypes:
            return super().missing_dtype(dtype)
        return "cupy has no CUDA device here; run this where there is one"

    def overwrite(self, array: Any, values: Any) -> None:
        """Write the values of another array over an array."""
        array[...] = values

    def is_array(self, value: Any) -> bool:
        """Return whether `value` is an array."""
        return isinstance(value, cupy.ndarray)

    def strided(self, array: Any) -> Any:
        """Return a transposed view of every second element of a larger buffer."""
        return view_with_gaps(array, cupy.empty)

    def call(self, function: Callable[..., Any], positional: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Call on this device and wait, so that what goes wrong is raised here."""
        with self._on:
            returned = function(*positional, **keywords)
            cupy.cuda.get_current_stream().synchronize()
        return returned

    @property
    def _on(self) -> Any:
        return cupy.cuda.Device(self.device)

    def _device_called(self, device: str) -> Any:
        number = device.removeprefix("cuda").removeprefix(":") or "0"
        if not number.isdigit():
            raise LoadError(f"cupy has no device {device!r}; its devices are 'cuda:0', 'cuda:1' and so on")
        try:
            with cupy.cuda.Device(int(number)):
                cupy.zeros(1)
        except Exception as error:
            raise LoadError(f"cupy has no device {device!r} here ({describe(error)})") from error
        return int(number)

    def _made(self, array: np.ndarray, dtype: str) -> Any:
        with self._on:
            return cupy.array(array)

    def _read(self, value: Any) -> np.ndarray:
        read: np.ndarray = cupy.asnumpy(value)
        return read


FRAMEWORK = CuPyArrays()
