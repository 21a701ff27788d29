"""A float64 pass of a model that is written in single precision: casts to its own precision are no casts down.

`x.astype(float32)` does nothing in a float32 model, and lifts a bfloat16 one. JAX's own attention has it before the
softmax. Beside float64 parameters it would cost half of the digits, for no reason that the model's author had.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from veriformer.adapters.capture.jax_kinds import OPAQUE
from veriformer.adapters.capture.weights import is_floating

# They read or make the bits of a number, or hand arrays to a program outside, which has its dtypes from before.
_EXACT = OPAQUE | {"bitcast_convert_type", "reduce_precision", "random_bits"}


class Widening:
    """What becomes float64 in a pass: floating-point dtypes of at least the size of `own`; none without it."""

    def __init__(self, own: np.dtype[Any] | None) -> None:
        self._size = 8 if own is None else own.itemsize

    def includes(self, dtype: Any) -> bool:
        """Return whether arrays of a dtype are computed in float64 instead."""
        if jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key):
            return False
        return is_floating(np.dtype(dtype)) and self._size <= np.dtype(dtype).itemsize < 8

    def array(self, array: Any) -> Any:
        """Return an array in the dtype that it has in the pass."""
        dtype = getattr(array, "dtype", None)
        if dtype is None or not self.includes(dtype):
            return array
        return jnp.asarray(array, dtype=np.float64) if isinstance(array, jax.Array) else np.float64(array)

    def operands(self, equation: Any, arrays: Sequence[Any]) -> list[Any]:
        """Return the operands of an equation as it is run in the pass."""
        if equation.primitive.name in _EXACT:
            return [_as_written(array, atom.aval) for array, atom in zip(arrays, equation.invars, strict=True)]
        return [self.array(array) for array in arrays]

    def parameters(self, equation: Any) -> dict[str, Any]:
        """Return the other arguments of an equation as it is run in the pass: dtypes become float64."""
        given: Mapping[str, Any] = equation.params
        if equation.primitive.name in _EXACT:
            return dict(given)
        return {name: np.dtype(np.float64) if self._is_dtype(value) else value for name, value in given.items()}

    def _is_dtype(self, value: Any) -> bool:
        return isinstance(value, np.dtype) and self.includes(value)


def _as_written(array: Any, aval: Any) -> Any:
    return array if getattr(array, "dtype", aval.dtype) == aval.dtype else jnp.asarray(array, dtype=aval.dtype)
