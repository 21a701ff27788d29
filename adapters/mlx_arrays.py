"""MLX's arrays, on its default device unless an implementation names another."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import mlx.core as mx
import numpy as np
from veriformer.adapters.arrays import DTYPES
from veriformer.adapters.cotangents import require_shapes, results_of
from veriformer.adapters.errors import DifferentiationRefused, LoadError, describe
from veriformer.adapters.foreign_arrays import ForeignArrays


class MLXArrays(ForeignArrays):
    """MLX's arrays: a device computes with them, and none holds them."""

    name = "mlx"
    differentiates = True

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
        array[()] = values

    def is_array(self, value: Any) -> bool:
        """Return whether `value` is an array."""
        return isinstance(value, mx.array)

    def call(self, function: Callable[..., Any], positional: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Call on this device and compute what is returned, so that what goes wrong is raised here."""
        with mx.stream(self._on):
            returned = function(*positional, **keywords)
            mx.eval(returned)
        return returned

    def vector_jacobian_product(
        self,
        function: Callable[..., Any],
        arguments: tuple[Any, ...],
        cotangents: tuple[Any, ...],
        differentiated: tuple[int, ...],
    ) -> tuple[Any, ...]:
        """Go back with mx.vjp."""

        def of_differentiated(*leaves: Any) -> Any:
            of_place = dict(zip(differentiated, leaves, strict=True))
            returned = function(*(of_place.get(place, argument) for place, argument in enumerate(arguments)))
            results = results_of(returned, cotangents)
            require_shapes(results, cotangents)
            return results

        leaves = [arguments[place] for place in differentiated]
        with mx.stream(self._on):
            try:
                _, found = mx.vjp(of_differentiated, leaves, list(cotangents))
                mx.eval(found)
            except (ValueError, RuntimeError) as error:
                if "vjp" not in str(error):
                    raise
                raise DifferentiationRefused(
                    f"mlx cannot differentiate the forward pass ({describe(error)})"
                ) from error
            if not _any_nonzero(found) and _any_nonzero(cotangents):
                _refuse_elsewhere(of_differentiated, leaves)
        return tuple(found)

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


def _any_nonzero(arrays: Iterable[Any]) -> bool:
    return any(bool(mx.any(array != 0)) for array in arrays)


def _refuse_elsewhere(function: Callable[..., Any], leaves: list[Any]) -> None:
    """Raise DifferentiationRefused if a function takes values out of MLX: their gradients are zero."""
    try:
        mx.compile(function)(*leaves)
    except ValueError as error:
        if "Attempting to eval" in str(error):
            raise DifferentiationRefused(
                "the forward pass takes arrays out of MLX, or decides by their values: its gradients are all zero"
            ) from error


FRAMEWORK = MLXArrays()
