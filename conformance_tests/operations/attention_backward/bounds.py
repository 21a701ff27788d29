"""Rounding error of the backward pass of attention.

The gradients ds of the logits are those of softmax, see `softmax_backward.bounds`, with the gradients of the weights
dp_j = dO · v_j, wrong by (γ(Dv) + 3u) M + tiny, M = |dO| · |v|. The weights are wrong by up to w_j
(`attention_weights_bound`), whether they were stored or are recomputed. D may be Σ p dp or, from the output, dO · o:
the first rounds products of width Dv and a sum of S terms, the second a sum of S terms and products of width Dv. Then

    dq   = s Σ ds k         wrong by s (Σ e |k| + (γ(S) + 4u) Σ (|ds| + e) |k|) + u |dq| + tiny
                            + max(1, √s) tiny Σ (|ds| + e + |k|), and dk likewise
    dv   = Σ p dO           wrong by Σ w |dO| + (γ(L) + u) Σ p̄ |dO| + u |dv| + tiny

4u: the scale may be applied to a factor, to ds or to the result, whole or as two square roots; s ds may then underflow
where ds does not, which counts with |k|, and s k with |ds|.

What key j leaves to another by the gradient of a maximum, l_j there, goes to a key whose logit is not smaller as far
as rounding can tell: dq_i may err by s Σ_j l_ij max |k| over those more, and dk_j by s Σ f_ij |q_i|, where f_j is the
sum of what keys leave whose logits are not larger than z_j.

Code that goes through its keys in parts averages in each of them, so that with values d counts max M too
(`logit_gradients`).

A sink is one key more, whose key and value are zero: it counts in D, in the weights and among the logits to which a
maximum may leave something, and has no term in dq. Code that multiplies the output of the keys alone by their share
g = 1 − p_σ, and differentiates that, rounds the average of the keys alone, D/g, and adds what cancels it: with
sinks all that rounds D counts D/g, but no more than max M (`logit_gradients`). The share, an exponential over a sum,
and the product with it add 4u to ds and to dv.

Behind a soft cap ds is multiplied by its slope f = 1 − tanh², which is wrong by φ (`cap_slope`). Multiplying by c, by f
and by 1/c, and storing each, rounds 3 times, and f once more:

    f ds   wrong by f e + φ (|ds| + e) + 4u (f + φ) (|ds| + e) + tiny (2 + max(c, 1/c))

What is left behind by a maximum passes the slope of the key that it goes to, which is 1 at most.

Where n query heads share a key and a value, their gradients are sums over n L terms, which one product may add up:
γ(n L) in place of γ(L). Or each head's is computed on its own, rounded, and added to the others: by derivatives of
gathering and by kernels one after the other, each partial sum stored. Rounding n results and n − 1 sums changes them by
n u Σ_h (|dk_h| + its error) at most, and by n tiny.

Between projections queries, keys, values and the output's gradient are wrong already, by δq, δk, δv and δO. Logits and
weights are then those of wrong queries and keys, dp is wrong by |dO| · δv + δO · (|v| + δv) more, and each product by
what its other factor is wrong: s Σ (|ds| + e) δk, and Σ p̄ δO. What is rounded is as large as |v| + δv, and likewise.

Of fused numerics only the logits are kept in float32 here: ε is smaller, and everything else is as above.

Without values the gradients of the weights are given: γ(Dv) + 3u is then 0, and dv is missing. With a sink it is u, of
the product of a given gradient with the share of the keys.

Derivations: attention_backward of the formulas, attention_rounding of what wrong weights do to an average.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.attention.bounds import AttentionTerms, cap_slope, logit_error
from veriformer.conformance_tests.operations.softmax_backward.bounds import (
    ComputedWeights,
    GradWeights,
    Ranks,
    logit_gradients,
)
from veriformer.conformance_tests.rounding.precision import Precision


def backward_bounds(
    terms: AttentionTerms,
    grad_output: Array,
    precision: Precision,
    group_size: int = 1,
    grad_error: Array | None = None,
) -> tuple[Array, ...]:
    """Return the largest rounding errors of the gradients of queries, keys and values, entry by entry.

    The terms are those of the query heads; consecutive ones, `group_size` of them, share a key and a value. The
    output's gradient may itself be wrong by `grad_error`. Without values it is that of the weights.
    """
    weights = ComputedWeights(terms.all_logits, all_weights(terms), logit_error(terms, precision), precision)
    gradients = logit_gradients(weights, grad_weights(terms, grad_output, grad_error, precision), precision)
    left = gradients.left_behind(weights, precision)
    ranks = Ranks(terms.all_logits, weights.logit_error)
    to_query = ranks.moved_upwards(left, terms.beside_sink(_largest(terms.key, terms.key_error), axis=-2))
    keys = slice(terms.key.shape[-2])
    value, error = _through_cap(gradients.value[..., keys], gradients.error[..., keys], terms, precision)
    grad_query = _product_bound(value, error, terms.key, terms.key_error, to_query, terms.scale, precision)
    group = Group(group_size, precision)

    def of_keys(
        value: Array, error: Array, moved: Array, query: Array, query_error: Array | None = None
    ) -> tuple[Array, Array]:
        turned, turned_error = value.swapaxes(-1, -2), error.swapaxes(-1, -2)
        added = moved.swapaxes(-1, -2) @ _largest(query, query_error)
        product = abs(terms.scale) * np.abs(turned @ query)
        return product, _product_bound(turned, turned_error, query, query_error, added, terms.scale, precision)

    left_to_keys = ranks.sum_not_above(left)[..., keys]
    grad_key = group.shared(of_keys, value, error, left_to_keys, terms.query, *_given(terms.query_error))
    if terms.value is None:
        return grad_query, grad_key

    def of_values(
        exact: Array, error: Array, largest: Array, grad: Array, wrong: Array | None = None
    ) -> tuple[Array, Array]:
        factors = 1.0 if terms.sinks is None else 5.0
        bound = _value_bound(exact, error, largest, grad, wrong, factors, precision)
        return np.abs(exact.swapaxes(-1, -2) @ grad), bound

    of_weights = terms.weights, weights.error[..., keys], weights.largest[..., keys]
    return grad_query, grad_key, group.shared(of_values, *of_weights, grad_output, *_given(grad_error))


def _given(error: Array | None) -> tuple[Array, ...]:
    return () if error is None else (error,)


def _largest(values: Array, error: Array | None) -> Array:
    """Return the largest magnitude that values may have."""
    return np.asarray(np.abs(values) if error is None else np.abs(values) + error)


def all_weights(terms: AttentionTerms) -> Array:
    """Return the weights of the keys, followed by that of the sink, if there is one."""
    return terms.weights if terms.sinks is None else np.asarray(reference.softmax(terms.all_logits))


def _through_cap(value: Array, error: Array, terms: AttentionTerms, precision: Precision) -> tuple[Array, Array]:
    """Return the gradients of the logits before the soft cap, and their errors, from those after it."""
    if not terms.softcap:
        return value, error
    visible = np.isfinite(terms.logits)
    slope, slope_error = (np.where(visible, array, 0.0) for array in cap_slope(terms, precision))
    size = np.abs(value) + error
    moved = error * slope + size * slope_error + 4.0 * precision.stored * size * (slope + slope_error)
    tiny = precision.tiny * (2.0 + max(terms.softcap, 1.0 / terms.softcap))
    return value * slope, np.where(visible, moved + tiny, 0.0)


@dataclass(frozen=True)
class Group:
    """So many consecutive query heads that share a key and a value."""

    size: int
    precision: Precision

    def shared(self, bound: Callable[..., tuple[Array, Array]], *arrays: Array) -> Array:
        """Return the error of a gradient that is a sum over the rows (…, L, …) of all heads of the group.

        `bound` returns the magnitude and the error of a gradient from arrays (B, heads, L, …): it gets those of each
        head, and those of a group with the rows of its heads one after the other.
        """
        _, together = bound(*map(self._joined, arrays))
        if self.size == 1:
            return together
        magnitude, error = bound(*arrays)
        stored = self._added(magnitude + error)
        return np.asarray(together + self.size * (self.precision.stored * stored + self.precision.tiny))

    def _joined(self, array: Array) -> Array:
        batch, heads, rows, width = array.shape
        return array.reshape(batch, heads // self.size, self.size * rows, width)

    def _added(self, array: Array) -> Array:
        batch, heads, *rest = array.shape
        return np.asarray(array.reshape(batch, heads // self.size, self.size, *rest).sum(axis=2))


def grad_weights(
    terms: AttentionTerms, grad_output: Array, grad_error: Array | None, precision: Precision
) -> GradWeights:
    """Return the gradients of the weights, the sink's included: those given where there are no values."""
    beside_sink = terms.sinks is not None
    if terms.value is None:
        given = terms.beside_sink(grad_output)
        return GradWeights(given, np.abs(given), roundings=float(beside_sink), beside_sink=beside_sink)
    turned = terms.all_values.swapaxes(-1, -2)
    value_error = None if terms.value_error is None else terms.beside_sink(terms.value_error, axis=-2)
    plain = np.abs(grad_output) @ np.abs(turned)
    magnitude = _largest(grad_output, grad_error) @ _largest(terms.all_values, value_error).swapaxes(-1, -2)
    summed = grad_output @ turned, magnitude, precision.growth(grad_output.shape[-1]), 3.0, beside_sink
    wrong = grad_error is not None or value_error is not None
    return GradWeights(*summed, np.maximum(magnitude - plain, 0.0) if wrong else 0.0, in_parts=True)


def _product_bound(
    grad_logits: Array,
    error: Array,
    factor: Array,
    factor_error: Array | None,
    added: Array,
    scale: float,
    precision: Precision,
) -> Array:
    """Return the error of scale · grad_logits @ factor, when `added` may be added to the product."""
    magnitude, size = _largest(factor, factor_error), np.abs(grad_logits)
    rounding = precision.growth(grad_logits.shape[-1]) + 4.0 * precision.stored
    carried = error @ magnitude + (0.0 if factor_error is None else size @ factor_error)
    bound = abs(scale) * (carried + added + rounding * ((size + error) @ magnitude + added))
    terms = np.sum(size + error, axis=-1, keepdims=True) + np.sum(magnitude, axis=-2, keepdims=True)
    bound += precision.underflow * max(1.0, math.sqrt(abs(scale))) * terms
    result = abs(scale) * np.abs(grad_logits @ factor)
    return np.asarray(bound + precision.output * (result + bound) + precision.tiny * (1.0 + abs(scale)))


def _value_bound(
    exact: Array,
    error: Array,
    largest: Array,
    grad_output: Array,
    grad_error: Array | None,
    factors: float,
    precision: Precision,
) -> Array:
    """Return the error of weightsᵀ @ grad_output, of weights with errors and largest computed values.

    `factors` is how many roundings each product has besides that of the sum.
    """
    magnitude = _largest(grad_output, grad_error)
    rounding = precision.growth(grad_output.shape[-2]) + factors * precision.stored
    computed = largest.swapaxes(-1, -2) @ magnitude
    bound = error.swapaxes(-1, -2) @ magnitude + rounding * computed
    if grad_error is not None:
        bound = bound + np.abs(exact).swapaxes(-1, -2) @ grad_error
    result = np.abs(exact.swapaxes(-1, -2) @ grad_output)
    return np.asarray(bound + precision.output * (result + bound) + precision.tiny)
