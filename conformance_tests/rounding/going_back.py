"""Rounding errors of gradients on their way back through sums and products, carried on as `estimates` are.

A gradient that a composition of operations passes on is computed from values that are wrong already: those of the
forward pass, and the gradients that come from above. Each step takes both as estimates. Its own rounding errors are
made at the wrong values, so that they are bounded at the largest magnitude that these may have, |value| + error.

The gradient of a matrix is a sum over all vectors: of R products, within one product of matrices or one for each
sample, whose results are stored and added. Storing a part rounds it by u of itself, u of the sum of all magnitudes in
total:

    |δ(xᵀ g)| ≤ |δx|ᵀ Ḡ + |x|ᵀ |δg| + (γ(R) + u) X̄ᵀ Ḡ + u′ (|xᵀ g| + …) + tiny,  X̄ = |x| + |δx|, Ḡ = |g| + |δg|

The gradient of a bias is a sum without products. XLA's reductions on processors store each partial sum in the 16 bits
of the numbers, as programs do that add row after row to an array: `Precision.stored_sums`.

Derivation: rounding_of_sums.
"""

from __future__ import annotations

import math

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array, shared_axes
from veriformer.conformance_tests.rounding.estimates import Estimate, projected
from veriformer.conformance_tests.rounding.precision import Precision


def multiplied(one: Estimate, other: Estimate, precision: Precision) -> Estimate:
    """Return a product, entry by entry: |δ(a b)| ≤ ε + u (|a b| + ε) + tiny, ε = |a| δb + |b| δa + δa δb."""
    value = one.value * other.value
    error = np.abs(one.value) * other.error + np.abs(other.value) * one.error + one.error * other.error
    return Estimate(value, error + precision.stored * (np.abs(value) + error) + precision.tiny)


def through_matrix(gradient: Estimate, weight: Array, precision: Precision) -> Estimate:
    """Return dy Wᵀ, the gradient of x in y = x W."""
    return projected(gradient, weight.T, None, precision)


def of_matrix(x: Estimate, gradient: Estimate, precision: Precision) -> Estimate:
    """Return Σ xᵀ dy over all vectors, the gradient of W in y = x W."""
    left, right = _rows(x), _rows(gradient)
    value = left.value.T @ right.value
    largest = (np.abs(left.value) + left.error).T @ (np.abs(right.value) + right.error)
    carried = largest - np.abs(left.value).T @ np.abs(right.value)
    terms = len(left.value)
    rounding = precision.growth(terms) + precision.stored
    return _summed(value, largest, np.maximum(carried, 0.0), rounding, terms, precision)


def of_bias(gradient: Estimate, precision: Precision) -> Estimate:
    """Return Σ dy over all vectors, the gradient of b in y = x W + b."""
    return summed_to(gradient.value.shape[-1:], gradient, precision)


def summed_to(shape: tuple[int, ...], gradient: Estimate, precision: Precision) -> Estimate:
    """Return the gradient of an array of this shape that was broadcast: a sum over the axes that it lacks or has once,
    which is rounded where it is stored.
    """
    shared = shared_axes(shape, gradient.value.ndim)
    terms = math.prod(gradient.value.shape[axis] for axis in shared)

    def added(array: Array) -> Array:
        return np.asarray(array.sum(axis=shared, keepdims=True).reshape(shape))

    carried = added(gradient.error)
    largest = added(np.abs(gradient.value)) + carried
    rounding = math.expm1(precision.stored_sums(terms - 1))
    return _summed(added(gradient.value), largest, carried, rounding, terms, precision)


def _rows(one: Estimate) -> Estimate:
    return one.mapped(lambda array: array.reshape(-1, array.shape[-1]))


def _summed(
    value: Array, largest: Array, carried: Array, rounding: float, terms: int, precision: Precision
) -> Estimate:
    """Return a sum of terms whose magnitudes add up to `largest`, and whose errors to `carried`."""
    error = carried + rounding * largest + terms * precision.underflow
    return Estimate(value, error + precision.output * (np.abs(value) + error) + precision.tiny)
