"""Rounding error of a matrix product with a bias, and of the parts of multi-head attention.

Derivation: rounding_of_sums.
"""

from __future__ import annotations

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.rounding.precision import Precision


def projection_bound(
    x: Array, weight: Array, bias: Array | None, precision: Precision, x_error: Array | None = None
) -> Array:
    """Return the error of `x @ weight + bias` whose input may itself be wrong by `x_error`.

    |δy| ≤ γ(n) |x||W| + u |xW| + u |y| + |δx||W| (Higham 2002, section 3.5), n the length of the sums. The rounding
    errors are those of the wrong x, so that |δx||W| may have increased each magnitude.
    """
    product = x @ weight
    result = product if bias is None else product + bias
    carried = np.zeros(product.shape) if x_error is None else x_error @ np.abs(weight)
    bound: Array = precision.growth(x.shape[-1]) * (np.abs(x) @ np.abs(weight) + carried) + precision.tiny
    # A biased product may be rounded twice, once before the bias is added.
    bound += precision.stored * (np.abs(product) + carried) + precision.output * (np.abs(result) + carried)
    if bias is not None:
        bound += precision.accumulation * np.abs(bias)
    return bound + carried
