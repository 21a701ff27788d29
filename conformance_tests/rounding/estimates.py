"""Rounding errors propagated through a composition of operations: through layers and whole models.

An estimate is a value, as the reference computes it, and a bound on the error of a correct implementation there. Each
step takes estimates and returns one: its bound is that of its own rounding errors, made at the wrong argument, plus the
propagated error of the argument. Every step bounds |f̂(x̂) − f(x)| by |f̂(x̂) − f(x̂)| + |f(x̂) − f(x)| for every x̂
with |x̂ − x| ≤ δ, with nothing left out as of higher order, so that bounds hold in 16 bits too, where δ is not small.
The range of a step clips its bound (a softmax, a norm), so that bounds stay finite.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.rounding.precision import Precision
from veriformer.conformance_tests.rounding.projections import projection_bound


@dataclass(frozen=True)
class Estimate:
    """An exact value, and how far from it a correct implementation may be, entry by entry."""

    value: Array
    error: Array

    @classmethod
    def exact(cls, value: Array) -> Estimate:
        """Return the estimate of given inputs and weights."""
        return cls(value, np.zeros(value.shape))

    def mapped(self, moved: Callable[[Array], Array]) -> Estimate:
        """Return the estimate after entries were moved, repeated or omitted, which rounds nothing."""
        return Estimate(moved(self.value), moved(self.error))


# How a model turns the queries and keys of its heads; None if positions are added to the embedding.
Turn = Callable[[Estimate], Estimate]


def added(one: Estimate, other: Estimate, precision: Precision) -> Estimate:
    """Return a sum: |δ(x + y)| ≤ |δx| + |δy| + u (|x + y| + |δx| + |δy|); underflow does not harm sums."""
    value, error = one.value + other.value, one.error + other.error
    return Estimate(value, error + precision.stored * (np.abs(value) + error))


def projected(x: Estimate, weight: Array, bias: Array | None, precision: Precision) -> Estimate:
    """Return x W + b: see `projection_bound`."""
    value = x.value @ weight if bias is None else x.value @ weight + bias
    return Estimate(value, projection_bound(x.value, weight, bias, precision, x.error))


def unembedded(x: Estimate, table: Array, precision: Precision) -> Estimate:
    """Return logits x Tᵀ (..., N), of a table of tokens' vectors (N, E)."""
    return projected(x, table.T, None, precision)
