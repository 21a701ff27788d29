"""Rounding error of the gradient of a table of tokens' vectors.

The row of a token that comes m times is the sum of m gradients, times √E where scaled. Each is rounded m − 1 times at
most in their sum, whatever the order: in the dtype itself where rows are added to one after the other in memory, as
torch does on the CPU. A sum that is accumulated more widely is rounded once more, at the end. Scaled, the root, its
rounding and the product are 3u, before or after the sum:

    |δ dW_v| ≤ (e^((m′ + 3s) u + u′) − 1) √E Σ |dO|,  s = 1 where scaled, u′ = 0 where m = 1 and nothing is scaled

m′ ≤ m − 1 is the number of roundings that do not average out, as in `Precision.growth`. Products of (1 + u) are no more
than e^u each. A row of one gradient is a copy, one of none is 0, and a product with one-hot rows adds zeros to it: all
exact, but that hardware may flush each subnormal gradient to zero.

Derivation: lookup, of the formula; rounding_of_sums, of m′.
"""

from __future__ import annotations

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.rounding.precision import Precision


def embedding_backward_bound(
    tokens: Array, grad_output: Array, vocabulary: int, precision: Precision, *, scaled: bool
) -> Array:
    """Return the largest rounding error of the gradient of the table, (N, E)."""
    width = grad_output.shape[-1]
    sizes = np.zeros((vocabulary, width))
    np.add.at(sizes, tokens, np.abs(grad_output))
    additions = np.maximum(np.bincount(tokens.ravel(), minlength=vocabulary) - 1, 0)
    exponent = np.array([precision.stored_sums(int(count)) for count in additions])
    flushed = np.zeros((vocabulary, width))
    np.add.at(flushed, tokens, (grad_output != 0.0) & (np.abs(grad_output) < precision.underflow))
    if not scaled:
        return np.asarray(np.expm1(exponent)[:, None] * sizes + precision.underflow * flushed)
    exponent = exponent + 3.0 * precision.stored + precision.output
    bound = np.expm1(exponent)[:, None] * sizes * np.sqrt(width)
    return np.where(sizes > 0, bound + precision.tiny * (additions[:, None] + 2.0), 0.0)
