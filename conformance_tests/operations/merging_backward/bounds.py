"""Rounding error of the backward pass of merging.

The weights w of the parts are wrong by up to ω, and w̄ = w + ω bounds them (`Shares`). With the terms
M_a = Σ |dO| |o_a| of the products with the output's gradient, M = M_a + M_b, and κ = 4u where both parts have keys:

    d o_a     wrong by (ω_a + 2u w̄_a + κ) |dO| + u |d o_a| + tiny

2u: a quotient by the sum of both weights may stand behind the product. κ: ring attention's o_a − σ(b − a) (o_a − o_b)
passes dO − σ dO back, which rounds a sigmoid (2u), its product and the difference.

    d lse_a   wrong by e_a = 2 ω_a M + ω_b w̄_a M + (γ(Dv) + 8u) w̄_a M + (ω_a + 4u w̄_a) |g| + κ (M + |g|)
              + u |d lse_a| + tiny (1 + Dv)

The exact gradient is w_a w_b (m_a − m_b) + w_a g, m = dO · o. Automatic differentiation has terms that cancel there:
e^(a − lse) passes w_a m_a back, and the logarithm −w_a (w_a m_a + w_b m_b) in return, with weights that may be computed
twice, from a rounded lse and as a quotient. So a wrong weight counts with all of M: ω_a in either of the two, and the
ω_b of the average with w_a. 8u as for softmax: differences or products with the outputs, their products with the
weights, the sum, a quotient and its square, and the difference. κ: 1 − σ, g − σ g and g − w_b g are rounded where the
weight itself is small.

Code that subtracts max(a, b) without stopping its gradient sends what is left of both gradients, 0 but for rounding, to
the part with the larger logarithm: there e_a + e_b counts once more, in both parts where they are equal.

Derivation: merging_backward of the formulas.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.merging.bounds import Shares
from veriformer.conformance_tests.rounding.precision import Precision


class Given(Protocol):
    """Two parts of an attention, and the gradients of what they merge to."""

    @property
    def output_a(self) -> Array:
        """The output of the first part, (B, H, L, Dv)."""

    @property
    def lse_a(self) -> Array:
        """Its log-sum-exp, (B, H, L)."""

    @property
    def output_b(self) -> Array:
        """The output of the second part."""

    @property
    def lse_b(self) -> Array:
        """Its log-sum-exp."""

    @property
    def grad_output(self) -> Array:
        """The gradient of the merged output."""

    @property
    def grad_lse(self) -> Array:
        """The gradient of the merged log-sum-exp."""


def merge_backward_bounds(given: Given, precision: Precision) -> tuple[Array, Array, Array, Array]:
    """Return the largest rounding errors of the gradients of both parts, entry by entry: o_a, lse_a, o_b, lse_b."""
    logarithms = given.lse_a, given.lse_b
    merged = reference.merge_attention(given.output_a, given.lse_a, given.output_b, given.lse_b)[1]
    shares = Shares.of(logarithms, merged, precision)
    of_lse = [_lse_bound(given, shares, place, precision) for place in (0, 1)]
    left = of_lse[0] + of_lse[1]
    first, second = (
        bound + np.where(one >= other, left, 0.0)
        for bound, one, other in zip(of_lse, logarithms, logarithms[::-1], strict=True)
    )
    of_output_a, of_output_b = (_output_bound(given, shares, place, precision) for place in (0, 1))
    return of_output_a, first, of_output_b, second


def _kappa(shares: Shares, precision: Precision) -> Array:
    return np.where(shares.both, 4.0 * precision.stored, 0.0)


def _output_bound(given: Given, shares: Shares, place: int, precision: Precision) -> Array:
    error = shares.error(place, precision)
    largest = shares.exact(place) + error
    factor = error + 2.0 * precision.stored * largest + _kappa(shares, precision)
    bound = factor[..., None] * np.abs(given.grad_output) + precision.tiny
    result = shares.exact(place)[..., None] * np.abs(given.grad_output)
    return np.asarray(bound + precision.output * (result + bound))


def _lse_bound(given: Given, shares: Shares, place: int, precision: Precision) -> Array:
    error, other = shares.error(place, precision), shares.error(1 - place, precision)
    weight, unit = shares.exact(place), precision.stored
    largest = weight + error
    terms = np.sum(np.abs(given.grad_output) * (np.abs(given.output_a) + np.abs(given.output_b)), axis=-1)
    size = np.abs(given.grad_lse)
    width = given.grad_output.shape[-1]
    rounding = (precision.growth(width) + 8.0 * unit) * largest
    bound = (2.0 * error + other * largest + rounding) * terms + (error + 4.0 * unit * largest) * size
    bound += _kappa(shares, precision) * (terms + size) + precision.tiny * (1.0 + width)
    return np.asarray(bound + precision.output * (weight * (terms + size) + bound))
