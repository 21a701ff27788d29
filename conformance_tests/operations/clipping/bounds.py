"""Rounding error of clipping by the norm of all gradients.

u is the unit roundoff of stored arrays, t the error of an underflow, n the number of entries and m that of arrays. The
sum of the squares N is added up in any order, in each array first or in all at once, and perhaps of entries that were
divided by the largest; the root of each array's sum may be taken and squared again:

    N     e^E N + (n + m) t, E = s + 8 u     s the exponent of a sum of n + m terms whose partial sums are stored;
                                             quotient by the largest (twice), square, root (twice), square, 2 u to spare
    ‖g‖   from √(N₋) (1 − 2u) to √(N₊) (1 + 2u), N₋ and N₊ the ends of that range: the root, times the largest
    c     between min(1, M/(‖g‖₊ + ε)) and min(1, M/(‖g‖₋ + ε)), M the bound: min has the slope 1 or 0; up to 1 where
          ‖g‖₋ ≤ M, since a program that asks whether ‖g‖ > M before it adds ε leaves such gradients as they are
    y     |g| (e_c + 6u c) + t (2 + M + |g|) + u′ |y|

The 6 roundings are those of M, of ε, of the sum, of the quotient or its inverse, and of the product, in any order:
g (M/‖g‖), (g/‖g‖) M, or g (M · min(1/‖g‖, 1/M)), which need not be exactly g within the bound. The norm may be
converted to the dtype of each array, which is within the 2 u to spare. The result is rounded to the dtype: u′.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.rounding.precision import Precision


def clipping_bounds(
    gradients: Sequence[Array], exact: Sequence[Array], max_norm: float, eps: float, precision: Precision
) -> list[Array]:
    """Return the largest rounding error of each clipped gradient, entry by entry."""
    unit, tiny = precision.stored, precision.underflow
    squares = sum(float(np.sum(array * array)) for array in gradients)
    norm, above, below = _norms(gradients, squares, precision)
    factor, low = _factor(norm, max_norm, eps), _factor(above, max_norm, eps)
    high = 1.0 if below <= max_norm else _factor(below, max_norm, eps)
    error = max(factor - low, high - factor) + 6.0 * unit * high
    bounds = []
    for given, result in zip(gradients, exact, strict=True):
        size = np.abs(given)
        moved = size * error + tiny * (2.0 + max_norm + size)
        bounds.append(moved + precision.output * (np.abs(result) + moved))
    return bounds


def _norms(gradients: Sequence[Array], squares: float, precision: Precision) -> tuple[float, float, float]:
    """Return the norm, and the largest and the smallest that rounding may give."""
    terms = sum(array.size for array in gradients) + len(gradients)
    exponent = precision.stored_sums(terms) + 8.0 * precision.stored
    lost = terms * precision.underflow
    above = math.sqrt(squares * math.exp(exponent) + lost) * (1.0 + 2.0 * precision.stored)
    below = math.sqrt(max(squares * math.exp(-exponent) - lost, 0.0)) * (1.0 - 2.0 * precision.stored)
    return math.sqrt(squares), above, below


def _factor(norm: float, max_norm: float, eps: float) -> float:
    return max_norm / max(norm + eps, max_norm)
