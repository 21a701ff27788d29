"""MLX's arrays, on its default device unless an implementation names another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mlx.core as mx
import numpy as np
from veriformer.adapters.arrays import DTYPES
from veriformer.adapters.errors import LoadError, describe
from veriformer.adapters.foreign_arrays import ForeignArrays


class MLXArrays(ForeignArrays):
    """MLX's arrays: a device computes with them, and none holds them."""

    name = "mlx"

    @property
    def dtypes(self) -> tuple[str, ...]:
        """float16, bfloat16 and float32, and float64 on the CPU."""
        return DTYPES if self._on == mx.Device(mx.cpu) else tuple(name for name in DTYPES if name != "float64")

    def missing_dtype(self, dtype: str) -> str:
        """Return why mlx lacks `dtype`."""
        if dtype == "float64":
            return 'mlx has float64 on the CPU only: set device = "cpu"'
        return super().missing_dtype(dtype)

    def overwrite(self, array: Any, values: Any) -> None:
        """Write the values of another array over an array."""
        array[...] = values

    def is_array(self, value: Any) -> bool:
        """Return whether `value` is an array."""
        return isinstance(value, mx.array)

    def call(self, function: Callable[..., Any], positional: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Call on this device and compute what is returned, so that what goes wrong is raised here."""
        with mx.stream(self._on):
            returned = function(*positional, **keywords)
            mx.eval(returned)
        return returned

    @property
    def _on(self) -> Any:
        return self.device or mx.default_device()

    def _device_called(self, device: str) -> Any:
        if device not in ("cpu", "gpu"):
            raise LoadError(f"mlx has no device {device!r}; its devices are 'cpu' and 'gpu'")
        found = mx.Device(getattr(mx, device))
        try:
            mx.eval(mx.zeros(1, stream=found))
        except Exception as error:
            raise LoadError(f"mlx has no device {device!r} here ({describe(error)})") from error
        return found

    def _made(self, array: np.ndarray, dtype: str) -> Any:
        own = {"bool": mx.bool_}.get(dtype) or getattr(mx, dtype)
        with mx.stream(self._on):
            made = mx.array(array, dtype=own)
            mx.eval(made)
        return made

    def _read(self, value: Any) -> np.ndarray:
        with mx.stream(self._on):
            return np.array(value.astype(mx.float32) if value.dtype == mx.bfloat16 else value)


FRAMEWORK = MLXArrays()
