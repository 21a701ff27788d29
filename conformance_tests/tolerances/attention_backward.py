"""Rounding error of the backward pass of attention.

The weights p_j of a query are wrong by up to w_j (`attention_weights_bound`), whether they were stored or are
recomputed. Every later quantity follows from them, with dp_j = dO · v_j and D = Σ p dp, the average of the dp_j:

    dp     wrong by a = (γ(Dv) + 3u) |dO| · |v| + tiny
    D      wrong by d = min(Σ w |dp − D|, max |dp − D|) + ā + (2 γ(S) + 5u + ν) Σ p̄ (|dp| + a) + tiny,
           or, computed as dO · o from the output, by |dO| · δo + (γ(Dv) + 3u) |dO| · (|o| + δo); the larger counts
    ds_j = p_j (dp_j − D)   wrong by e_j = w_j |dp_j − D| + p̄_j (c + 2u (|dp_j − D| + c)) + tiny, c = a + d + u(|dp_j| + |D|)
    dq   = s Σ ds k         wrong by s (Σ e |k| + (γ(S) + 4u) Σ (|ds| + e) |k|) + u |dq| + tiny, and dk likewise
    dv   = Σ p dO           wrong by Σ w |dO| + (γ(L) + u) Σ p̄ |dO| + u |dv| + tiny

p̄ = min(p + w, 1 + w') bounds the computed weight and ā is the largest average of the a_j that such weights allow.
In D wrong weights count with |dp − D| only, as wrong logits do in the output: weights that belong to wrong logits still
sum to one, and what is rounded after the softmax, ν = γ(S) + 2u + u′ |log Σ e^z|, is relative to each weight.
5u: code that differentiates x/Σx rounds the products, their sum, its quotient by (Σx)², and the difference.
4u: the scale may be applied to a factor, to ds or to the result, whole or as two square roots.

Code that subtracts max z without stopping its gradient sends −Σ ds, which is 0 but for rounding, to the key of the
largest logit (to one of those that rounding makes the largest, or in shares to several): f = Σ e + (γ(S) + 2u) Σ (|ds|
+ e) in all. So dq_i may be wrong by s f_i max |k_j| more, and dk_j by s Σ f_i |q_i|, over keys j that may be largest.
"""

from __future__ import annotations

import numpy as np
from veriformer.conformance_tests.tolerances.attention import (
    AttentionTerms,
    attention_bound,
    attention_weights_bound,
    logit_error,
)
from veriformer.conformance_tests.tolerances.precision import Precision
from veriformer.conformance_tests.tolerances.softmax import log_normaliser, normaliser_error

Array = np.ndarray


def backward_bounds(terms: AttentionTerms, grad_output: Array, precision: Precision) -> tuple[Array, Array, Array]:
    """Return the largest rounding errors of the gradients of queries, keys and values, entry by entry."""
    weights = _Weights(terms, precision)
    grad_logits, error = _logit_gradients(terms, weights, grad_output, precision)
    may_be_largest, beside = _through_the_maximum(terms, grad_logits, error, precision)
    query, key = np.abs(terms.query), np.abs(terms.key)
    keys_by_component = np.where(may_be_largest[..., None], key[..., None, :, :], 0.0)
    to_query = beside * np.max(keys_by_component, axis=-2, initial=0.0)
    to_key = np.where(may_be_largest, beside, 0.0).swapaxes(-1, -2) @ query
    turned = grad_logits.swapaxes(-1, -2), error.swapaxes(-1, -2)
    grad_query = _product_bound(grad_logits, error, terms.key, to_query, terms.scale, precision)
    grad_key = _product_bound(*turned, terms.query, to_key, terms.scale, precision)
    return grad_query, grad_key, _value_bound(terms, weights, grad_output, precision)


class _Weights:
    """The computed weights: what they may be wrong by, and how large they may be."""

    def __init__(self, terms: AttentionTerms, precision: Precision) -> None:
        self.visible = np.isfinite(terms.logits)
        self.error = np.where(self.visible, attention_weights_bound(terms, precision), 0.0)
        shared = precision.growth(terms.logits.shape[-1]) + precision.stored + precision.output
        self.rounding = shared + normaliser_error(log_normaliser(terms.logits), precision)
        self.largest = np.minimum(terms.weights + self.error, 1.0 + self.rounding + 2.0 * precision.tiny)

    def average(self, amounts: Array) -> Array:
        """Return the largest average of nonnegative amounts (..., L, S) that the weights allow, (..., L, 1)."""
        farthest = np.max(np.where(self.visible, amounts, 0.0), axis=-1, keepdims=True, initial=0.0)
        return np.asarray(np.minimum(np.sum(self.largest * amounts, axis=-1, keepdims=True), farthest))


def _logit_gradients(
    terms: AttentionTerms, weights: _Weights, grad_output: Array, precision: Precision
) -> tuple[Array, Array]:
    """Return the exact gradients of the logits and their errors: ds and e."""
    if terms.value is None:
        raise ValueError("the bound of a gradient needs the values")
    unit, value = precision.stored, np.abs(terms.value).swapaxes(-1, -2)
    magnitude = np.abs(grad_output) @ value
    grad_weights = np.where(weights.visible, grad_output @ terms.value.swapaxes(-1, -2), 0.0)
    average = np.sum(terms.weights * grad_weights, axis=-1, keepdims=True)
    spread = np.where(weights.visible, np.abs(grad_weights - average), 0.0)
    wrong = (precision.growth(terms.value.shape[-1]) + 3.0 * unit) * magnitude + precision.tiny
    moved = _average_error(terms, weights, grad_output, grad_weights, spread, wrong, precision)
    change = wrong + moved + unit * (np.abs(grad_weights) + np.abs(average))
    error = weights.error * spread + weights.largest * (change + 2.0 * unit * (spread + change)) + precision.tiny
    return terms.weights * (grad_weights - average), np.where(weights.visible, error, 0.0)


def _average_error(
    terms: AttentionTerms,
    weights: _Weights,
    grad_output: Array,
    grad_weights: Array,
    spread: Array,
    wrong: Array,
    precision: Precision,
) -> Array:
    """Return what D may be wrong by, however it is computed, (..., L, 1)."""
    if terms.output is None:
        raise ValueError("the bound of a gradient needs the output")
    unit, keys = precision.stored, terms.logits.shape[-1]
    moved = np.sum(weights.error * spread, axis=-1, keepdims=True)
    moved = np.minimum(moved, np.max(spread, axis=-1, keepdims=True, initial=0.0))
    relative = 2.0 * precision.growth(keys) + 5.0 * unit + weights.rounding
    from_weights = moved + weights.average(wrong) + relative * weights.average(np.abs(grad_weights) + wrong)
    output_error = attention_bound(terms, precision)
    largest = np.abs(grad_output) * (np.abs(terms.output) + output_error)
    from_output = np.sum(np.abs(grad_output) * output_error, axis=-1, keepdims=True)
    width = precision.growth(grad_output.shape[-1]) + 3.0 * unit
    from_output += width * np.sum(largest, axis=-1, keepdims=True)
    return np.asarray(np.maximum(from_weights, from_output) + precision.tiny * (1.0 + keys))


def _through_the_maximum(
    terms: AttentionTerms, grad_logits: Array, error: Array, precision: Precision
) -> tuple[Array, Array]:
    """Return which keys may have the largest logit, and f, what they get where the maximum has a gradient."""
    beside = np.sum(error, axis=-1, keepdims=True)
    rounding = precision.growth(terms.logits.shape[-1]) + 2.0 * precision.stored
    beside = beside + rounding * np.sum(np.abs(grad_logits) + error, axis=-1, keepdims=True)
    uncertain = logit_error(terms, precision)
    lowest = np.max(terms.logits - uncertain, axis=-1, keepdims=True, initial=-np.inf)
    may_be_largest = np.isfinite(terms.logits) & (terms.logits + uncertain >= lowest)
    return may_be_largest, beside


def _product_bound(
    grad_logits: Array, error: Array, factor: Array, beside: Array, scale: float, precision: Precision
) -> Array:
    """Return the error of scale · grad_logits @ factor, when `beside` may be added to the product."""
    magnitude, size = np.abs(factor), np.abs(grad_logits)
    rounding = precision.growth(grad_logits.shape[-1]) + 4.0 * precision.stored
    bound = abs(scale) * (error @ magnitude + beside + rounding * ((size + error) @ magnitude + beside))
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
