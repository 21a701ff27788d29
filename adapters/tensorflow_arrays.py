"""TensorFlow's tensors, in eager execution; compiled functions (`tf.function`) are called like others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from veriformer.adapters.cotangents import require_shapes, results_of
from veriformer.adapters.errors import DifferentiationRefused, LoadError, NotDifferentiable, describe
from veriformer.adapters.foreign_arrays import ForeignArrays


class TensorFlowArrays(ForeignArrays):
    """TensorFlow's tensors on one device."""

    name = "tensorflow"
    differentiates = True

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

    def vector_jacobian_product(
        self,
        function: Callable[..., Any],
        arguments: tuple[Any, ...],
        cotangents: tuple[Any, ...],
        differentiated: tuple[int, ...],
    ) -> tuple[Any, ...]:
        """Call with a tape that watches these arguments, and go back along it."""
        # One tensor may be given twice, and has a gradient for each place.
        leaves = tuple(tf.identity(arguments[place]) for place in differentiated)
        with tf.device(self.device), tf.GradientTape() as tape:
            tape.watch(leaves)
            results = results_of(function(*_filled(arguments, differentiated, leaves)), cotangents)
        require_shapes(results, cotangents)
        given = [tf.cast(cotangent, result.dtype) for result, cotangent in zip(results, cotangents, strict=True)]
        try:
            found = tape.gradient(results, leaves, output_gradients=given)
        except LookupError as error:
            raise DifferentiationRefused(
                f"TensorFlow cannot differentiate the forward pass ({describe(error)})"
            ) from error
        if all(gradient is None for gradient in found):
            raise _cut_off(function, arguments, differentiated)
        if any(gradient is None for gradient in found) and tape.watched_variables():
            raise DifferentiationRefused(
                "the forward pass copies its weights into variables of its own: gradients reach the copies alone"
            )
        return tuple(
            # The gradient of a table that few rows were taken from is those rows.
            tf.zeros_like(leaf) if gradient is None else tf.convert_to_tensor(gradient)
            for leaf, gradient in zip(leaves, found, strict=True)
        )

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


def _filled(arguments: tuple[Any, ...], places: tuple[int, ...], others: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arguments with others at some places."""
    of_place = dict(zip(places, others, strict=True))
    return tuple(of_place.get(place, argument) for place, argument in enumerate(arguments))


def _cut_off(
    function: Callable[..., Any], arguments: tuple[Any, ...], differentiated: tuple[int, ...]
) -> DifferentiationRefused | NotDifferentiable:
    """Return why no gradient leads back from a result: it is computed elsewhere, or it was cut off on the way."""

    def traced(*leaves: Any) -> Any:
        return function(*_filled(arguments, differentiated, leaves))

    leaves = (tf.TensorSpec(arguments[place].shape, arguments[place].dtype) for place in differentiated)
    try:
        # Tensors that have no values yet cannot leave TensorFlow.
        tf.function(traced, autograph=False).get_concrete_function(*leaves)
    except Exception as error:
        return DifferentiationRefused(
            f"the forward pass takes tensors out of TensorFlow, or decides by their values ({describe(error)})"
        )
    return NotDifferentiable(
        "the result of the forward pass is cut off from its inputs: no gradient leads back to any of them; compute "
        "the result without tf.stop_gradient"
    )


FRAMEWORK = TensorFlowArrays()
