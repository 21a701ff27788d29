"""tinygrad's tensors, on its default device unless an implementation names another."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from tinygrad import Device, Tensor, dtypes
from veriformer.adapters.arrays import DTYPES
from veriformer.adapters.errors import LoadError, describe
from veriformer.adapters.foreign_arrays import ForeignArrays

# What tinygrad's dtypes are called elsewhere: their own names are those of C's types.
_NAMES = {
    getattr(dtypes, name): name
    for name in (*DTYPES, "bool", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)))
}


class TinygradArrays(ForeignArrays):
    """tinygrad's tensors on one device."""

    name = "tinygrad"
    compiles_per_shape = True

    @property
    def dtypes(self) -> tuple[str, ...]:
        """Those of float16, bfloat16, float32 and float64 that the device computes with."""
        return tuple(dtype for dtype in DTYPES if not _failure(dtype, self.device))

    def missing_dtype(self, dtype: str) -> str:
        """Return why tinygrad lacks `dtype`: it may lack a compiler for every device."""
        if self.dtypes:
            return super().missing_dtype(dtype)
        return (
            f"tinygrad computes nothing here ({_failure(dtype, self.device)}); install clang, which it compiles with, "
            "or set DEV=PYTHON, which needs no compiler"
        )

    def overwrite(self, array: Any, values: Any) -> None:
        """Write the values of another tensor over a tensor."""
        array.assign(values).realize()

    def is_array(self, value: Any) -> bool:
        """Return whether `value` is a tensor."""
        return isinstance(value, Tensor)

    def dtype_name(self, value: Any) -> str:
        """Return the dtype's usual name: float32 for tinygrad's float."""
        return _NAMES.get(value.dtype, str(value.dtype))

    def call(self, function: Callable[..., Any], positional: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Call and compute what is returned, so that what goes wrong is raised here."""
        returned = function(*positional, **keywords)
        for part in returned if isinstance(returned, tuple | list) else (returned,):
            if self.is_array(part):
                part.realize()
        return returned

    def _device_called(self, device: str) -> Any:
        try:
            _doubled("float32", device)
        except Exception as error:
            raise LoadError(f"tinygrad has no device {device!r} here ({describe(error)})") from error
        return Device.canonicalize(device)

    def _made(self, array: np.ndarray, dtype: str) -> Any:
        # Realised, because a tensor refers to NumPy's memory until then.
        return Tensor(array, dtype=getattr(dtypes, dtype), device=self.device).realize()

    def _read(self, value: Any) -> np.ndarray:
        read: np.ndarray = value.numpy()
        return read


@lru_cache(maxsize=64)
def _failure(dtype: str, device: str | None) -> str:
    """Return what goes wrong where a device computes in `dtype`; nothing where it does so."""
    try:
        _doubled(dtype, device)
    except Exception as error:
        return describe(error)
    return ""


def _doubled(dtype: str, device: str | None) -> Any:
    return (Tensor([1.0, 2.0], dtype=getattr(dtypes, dtype), device=device) * 2).numpy()


FRAMEWORK = TinygradArrays()
