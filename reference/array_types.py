"""The array annotations of the reference: shapes in the signatures.

`Float[Array, "B H L D"]` is an array of floating-point numbers with four axes; within one call every axis of the
same name has the same length, and `#B` may also have length 1. The names are jaxtyping's if it was imported before, for
example for a run-time type checker that enforces them, and otherwise stand-ins that only document: the reference itself
needs NumPy alone, and importing jaxtyping takes as long as importing the whole reference.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

__all__ = ["Array", "Bool", "Float", "Float64", "Int"]

if TYPE_CHECKING:
    from typing import TypeAlias

    from jaxtyping import Bool, Float, Float64, Int

    Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
else:
    Array = np.ndarray
    if sys.modules.get("jaxtyping") is not None:
        from jaxtyping import Bool, Float, Float64, Int
    else:

        class _Shaped:
            """Stand-in for an annotation of jaxtyping: stores nothing and accepts every shape."""

            def __class_getitem__(cls, parameters: tuple[Any, str]) -> type[np.ndarray]:
                return np.ndarray

        class Bool(_Shaped):
            """Array of booleans."""

        class Float(_Shaped):
            """Array of floating-point numbers of any precision."""

        class Float64(_Shaped):
            """Array of double-precision numbers."""

        class Int(_Shaped):
            """Array of integers."""
