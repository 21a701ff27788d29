"""Rounding error of the backward pass of attention.

The weights p_j of a query are wrong by up to w_j (`attention_weights_bound`), whether they were stored or are
recomputed. Every later quantity follows from them, with dp_j = dO · v_j and D = Σ p dp, the average of the dp_j:

    dp     wrong by a = (γ(Dv) + 3u) M + tiny, M = |dO| · |v|
    D      wrong by d = min(Σ w |dp − D|, max |dp − D|) + (2 γ(S) + γ(Dv) + 8u + ν) Σ p̄ M + tiny
    ds_j = p_j (dp_j − D)   wrong by e_j = w_j |dp_j − D| + p̄_j (c + 2u (|dp_j − D| + c) + ρ_j (|D| + d)) + tiny,
                            c = a + d + u (|dp_j| + |D|)
    dq   = s Σ ds k         wrong by s (Σ e |k| + (γ(S) + 4u) Σ (|ds| + e) |k|) + u |dq| + tiny
                            + max(1, √s) tiny Σ (|ds| + e + |k|), and dk likewise
    dv   = Σ p dO           wrong by Σ w |dO| + (γ(L) + u) Σ p̄ |dO| + u |dv| + tiny

p̄ = min(p + w, 1 + ν) bounds the computed weight. In D wrong weights count with |dp − D| only, as wrong logits do in the
output: weights that belong to wrong logits still sum to one, and what is rounded after the softmax,
ν = γ(S) + 2u + u′ |log Σ e^z|, is relative to each weight. D may be Σ p dp or, from the output, dO · o: the first
rounds products of width Dv and a sum of S terms, the second a sum of S terms and products of width Dv. 8u: code that
differentiates x/Σx rounds dp, the products, their sum, its quotient by (Σx)², and the difference.
Code that differentiates exp(z − log Σ e^z) computes weights twice, p_j there and q_j in the derivative of the
logarithm: ds_j = p_j dp_j − q_j D. Both are of the same logits, so that they differ by the roundings of z − log Σ e^z,
of z − max z and of what follows: by ρ_j = min(1, u′ (|log p_j| + max z − z_j + 6) + γ(S) + ν′) of the larger at most,
where u′ is that of the logarithm, never more than float32's, and ν′ = u′ |log Σ e^z|.
4u: the scale may be applied to a factor, to ds or to the result, whole or as two square roots; s ds may then underflow
where ds does not, which counts with |k|, and s k with |ds|.

Code that subtracts max z without stopping its gradient sends −Σ ds, which is 0 but for rounding, to the key of the
largest logit (to one of those that rounding makes the largest, or in shares to several). Code that goes through the
keys in blocks does so in each, and a key may be the largest of any that are not larger. What it gets is −Σ ds of
computed weights. If these sum to one, that is 0 however wrong they are, else D times what is missing: so that r_j
counts, which is e_j without w, and with ν |D| in place of ν Σ p̄ M. Key j leaves at most
g_j = r_j + (γ(S) + 2u) (|ds_j| + e_j), to a key whose logit is not smaller as far as rounding can tell: dq_i may err by
s Σ_j g_ij max |k| over those more, and dk_j by s Σ f_ij |q_i|, where f_j is the sum of what keys leave whose logits are
not larger than z_j.

Of fused numerics only the logits are kept in float32 here: ε is smaller, and everything else is as above.

Derivations: attention_backward of the formulas, attention_rounding of what wrong weights do to an average.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.attention.bounds import AttentionTerms, logit_error
from veriformer.conformance_tests.operations.softmax.bounds import disturbed, normaliser_error, weight_error
from veriformer.conformance_tests.rounding.precision import Precision


def backward_bounds(terms: AttentionTerms, grad_output: Array, precision: Precision) -> tuple[Array, Array, Array]:
    """Return the largest rounding errors of the gradients of queries, keys and values, entry by entry."""
    weights = _Weights(terms, precision)
    grad_logits, error, rounding = _logit_gradients(terms, weights, grad_output, precision)
    of_sum = precision.growth(terms.logits.shape[-1]) + 2.0 * precision.stored
    left = np.where(weights.visible, rounding + of_sum * (np.abs(grad_logits) + error), 0.0)
    ranks = _Ranks(terms.logits, weights.logit_error)
    to_key = ranks.sum_not_above(left).swapaxes(-1, -2) @ np.abs(terms.query)
    to_query = ranks.moved_upwards(left, np.abs(terms.key))
    turned = grad_logits.swapaxes(-1, -2), error.swapaxes(-1, -2)
    grad_query = _product_bound(grad_logits, error, terms.key, to_query, terms.scale, precision)
    grad_key = _product_bound(*turned, terms.query, to_key, terms.scale, precision)
    return grad_query, grad_key, _value_bound(terms, weights, grad_output, precision)


class _Weights:
    """The computed weights: their errors and their largest values."""

    def __init__(self, terms: AttentionTerms, precision: Precision) -> None:
        self.visible = np.isfinite(terms.logits)
        self.logit_error = logit_error(terms, precision)
        # What is kept of the weights, recomputed from them, or rounded on the way is every kernel's own.
        precision = replace(precision, fused=False)
        softmax = disturbed(terms.logits, self.logit_error)
        self.error = np.where(self.visible, weight_error(softmax, precision), 0.0)
        shared = precision.growth(terms.logits.shape[-1]) + precision.stored + precision.output
        self.rounding = shared + normaliser_error(softmax.normaliser, precision)
        self.largest = np.minimum(terms.weights + self.error, 1.0 + self.rounding + 2.0 * precision.tiny)
        self.apart = self._computed_twice(terms.logits, softmax.normaliser, precision)

    def _computed_twice(self, logits: Array, normaliser: Array, precision: Precision) -> Array:
        """Return ρ, the relative difference between two computations of the weights from the same logits."""
        seen = np.where(self.visible, logits, normaliser)
        highest = np.max(logits, axis=-1, keepdims=True, initial=-np.inf)
        far = np.abs(seen - normaliser) + np.where(self.visible, highest - seen, 0.0) + 6.0
        shared = precision.growth(logits.shape[-1]) + normaliser_error(normaliser, precision)
        return np.asarray(np.minimum(precision.logarithm * far + shared, 1.0))


def _logit_gradients(
    terms: AttentionTerms, weights: _Weights, grad_output: Array, precision: Precision
) -> tuple[Array, Array, Array]:
    """Return the exact gradients of the logits, their errors, and those of right weights: ds, e and r."""
    if terms.value is None:
        raise ValueError("the bound of a gradient needs the values")
    unit, width = precision.stored, precision.growth(terms.value.shape[-1])
    magnitude = np.abs(grad_output) @ np.abs(terms.value).swapaxes(-1, -2)
    grad_weights = np.where(weights.visible, grad_output @ terms.value.swapaxes(-1, -2), 0.0)
    average = np.sum(terms.weights * grad_weights, axis=-1, keepdims=True)
    spread = np.where(weights.visible, np.abs(grad_weights - average), 0.0)
    average_magnitude = np.sum(weights.largest * magnitude, axis=-1, keepdims=True)
    rounded = (2.0 * precision.growth(terms.logits.shape[-1]) + width + 8.0 * unit) * average_magnitude
    rounded += precision.tiny * (1.0 + terms.logits.shape[-1])
    own = (width + 3.0 * unit) * magnitude + precision.tiny + unit * (np.abs(grad_weights) + np.abs(average))

    def multiplied(moved: Array) -> Array:
        """Return the error of p (dp − D), apart from that of the factor p."""
        change = own + moved
        change += 2.0 * unit * (spread + change) + weights.apart * (np.abs(average) + moved)
        return np.where(weights.visible, weights.largest * change + precision.tiny, 0.0)

    of_weights = weights.rounding * average_magnitude + _moved_by_weights(weights.error, spread)
    error = weights.error * spread + multiplied(rounded + of_weights)
    return terms.weights * (grad_weights - average), error, multiplied(rounded + weights.rounding * np.abs(average))


def _moved_by_weights(error: Array, spread: Array) -> Array:
    """Return how far wrong weights move the average of dp: no further than to the farthest, (..., L, 1)."""
    linear = np.sum(error * spread, axis=-1, keepdims=True)
    return np.asarray(np.minimum(linear, np.max(spread, axis=-1, keepdims=True, initial=0.0)))


class _Ranks:
    """The keys of each query in the order of their logits, which rounding may exchange."""

    def __init__(self, logits: Array, error: Array) -> None:
        self.most = logits + error
        # A stable sort puts the least that a logit may be before the most of another that equals it.
        self.order = np.argsort(np.concatenate([logits - error, self.most], axis=-1), axis=-1, kind="stable")

    def sum_not_above(self, amounts: Array) -> Array:
        """Return for each key the sum of the amounts (..., L, S) of those whose logits may be no larger."""
        at_least = np.concatenate([amounts, np.zeros_like(amounts)], axis=-1)
        sums = np.empty_like(at_least)
        ordered = np.cumsum(np.take_along_axis(at_least, self.order, axis=-1), axis=-1)
        np.put_along_axis(sums, self.order, ordered, axis=-1)
        return sums[..., amounts.shape[-1] :]

    def moved_upwards(self, amounts: Array, vectors: Array) -> Array:
        """Return Σ_j a_j max v, over the vectors (..., S, D) of keys whose logits may be no smaller, (..., L, D).

        By the most that each logit may be, an amount counts from the first key on that it may move to: what the sums
        grow by from key to key counts with the largest vector from there on.
        """
        rising = np.argsort(self.most, axis=-1, kind="stable")
        sums = np.take_along_axis(self.sum_not_above(amounts), rising, axis=-1)
        grown = np.diff(sums, axis=-1, prepend=0.0)
        ordered = np.take_along_axis(vectors[..., None, :, :], rising[..., None], axis=-2)
        largest = np.maximum.accumulate(ordered[..., ::-1, :], axis=-2)[..., ::-1, :]
        return np.asarray((grown[..., None, :] @ largest)[..., 0, :])


def _product_bound(
    grad_logits: Array, error: Array, factor: Array, beside: Array, scale: float, precision: Precision
) -> Array:
    """Return the error of scale · grad_logits @ factor, when `beside` may be added to the product."""
    magnitude, size = np.abs(factor), np.abs(grad_logits)
    rounding = precision.growth(grad_logits.shape[-1]) + 4.0 * precision.stored
    bound = abs(scale) * (error @ magnitude + beside + rounding * ((size + error) @ magnitude + beside))
    terms = np.sum(size + error, axis=-1, keepdims=True) + np.sum(magnitude, axis=-2, keepdims=True)
    bound += precision.underflow * max(1.0, math.sqrt(abs(scale))) * terms
    result = abs(scale) * np.abs(grad_logits @ factor)
    return np.asarray(bound + precision.output * (result + bound) + precision.tiny * (1.0 + abs(scale)))


def _value_bound(terms: AttentionTerms, weights: _Weights, grad_output: Array, precision: Precision) -> Array:
    """Return the error of weightsᵀ @ grad_output."""
    magnitude = np.abs(grad_output)
    rounding = precision.growth(grad_output.shape[-2]) + precision.stored
    computed = weights.largest.swapaxes(-1, -2) @ magnitude
    bound = weights.error.swapaxes(-1, -2) @ magnitude + rounding * computed
    result = np.abs(terms.weights.swapaxes(-1, -2) @ grad_output)
    return np.asarray(bound + precision.output * (result + bound) + precision.tiny)
