"""TensorFlow's tensors, in eager execution; compiled functions (`tf.function`) are called like others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from veriformer.adapters.errors import LoadError
from veriformer.adapters.foreign_arrays import ForeignArrays


class TensorFlowArrays(ForeignArrays):
    """TensorFlow's tensors on one device."""

    name = "tensorflow"

    def is_array(self, value: Any) -> bool:
        """Return whether `value` is a tensor, or a variable, which holds one."""
        return isinstance(value, tf.Tensor | tf.Variable)

    def dtype_name(self, value: Any) -> str:
        """Return the dtype's name."""
        return str(value.dtype.name)

    def call(self, function: Callable[..., Any], positional: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Call on this device."""
        with tf.device(self.device):
            return function(*positional, **keywords)

    def _device_called(self, device: str) -> Any:
        """Return the full name of "CPU", "GPU:0" and so on."""
        devices = [each.name for each in tf.config.list_logical_devices()]
        wanted = device.lower() if device[-1:].isdigit() else f"{device.lower()}:0"
        found = [name for name in devices if name.lower().endswith(wanted)]
        if not found:
            raise LoadError(f"tensorflow has no device {device!r} here; it has {', '.join(devices)}")
        return found[0]

    def _made(self, array: np.ndarray, dtype: str) -> Any:
        with tf.device(self.device):
            # Converted by NumPy: TensorFlow's cast makes zeros of subnormal numbers.
            return tf.constant(array.astype(tf.dtypes.as_dtype(dtype).as_numpy_dtype))

    def _read(self, value: Any) -> np.ndarray:
        read: np.ndarray = value.numpy()
        return read.astype(np.float32) if value.dtype == tf.bfloat16 else read


FRAMEWORK = TensorFlowArrays()
