"""Rounding error of the backward pass of softmax, alone and inside attention.

The gradient of the logits is ds_j = p_j (dp_j − D) with dp the gradient of the weights and D = Σ p dp their average.
The computed weights are wrong by up to w_j, and p̄ = min(p + w, 1 + ν) bounds them. Each dp_j is wrong by up to
g M_j + tiny, where M_j bounds the terms that it is a sum of, and g is γ of their number; given gradients are exact.

    D      wrong by d = min(Σ w |dp − D|, max |dp − D|) + (2 γ(S) + g + 8u + ν) Σ p̄ M + tiny
    ds_j   wrong by e_j = w_j |dp_j − D| + p̄_j (c + 2u (|dp_j − D| + c) + ρ_j (|D| + d)) + tiny,
           c = a + d + u (|dp_j| + |D|), a the error of dp_j

Code of attention that goes through its keys in parts, and differentiates what puts these together, rounds the averages
of the parts, which may be as large as the largest M however small a part's weight is, once: d is not less than with
(γ(S) + g + 4u) max M as its second term.

In D wrong weights count with |dp − D| only, as wrong logits do in the output of attention: weights that belong to wrong
logits still sum to one, and what is rounded after the softmax, ν = γ(S) + 2u + u′ |log Σ e^z|, is relative to each
weight. 8u: code that differentiates x/Σx rounds dp, the products, their sum, its quotient by (Σx)², and the difference.
Code that differentiates exp(z − log Σ e^z) computes weights twice, p_j there and q_j in the derivative of the
logarithm: ds_j = p_j dp_j − q_j D. Both are of the same logits, so that they differ by the roundings of z − log Σ e^z,
of z − max z and of what follows: by ρ_j = min(1, u′ (|log p_j| + max z − z_j + 6) + γ(S) + ν′) of the larger at most,
where u′ is that of the logarithm, never more than float32's, and ν′ = u′ |log Σ e^z|.

Code that subtracts max z without stopping its gradient sends −Σ ds, which is 0 but for rounding, to the key of the
largest logit (to one of those that rounding makes the largest, or in shares to several). Code that goes through the
keys in blocks does so in each, and a key may be the largest of any that are not larger. What it gets is −Σ ds of
computed weights. If these sum to one, that is 0 however wrong they are, else D times what is missing: so that r_j
counts, which is e_j without w, and with ν |D| in place of ν Σ p̄ M. Key j leaves at most
l_j = r_j + (γ(S) + 2u) (|ds_j| + e_j), to a key whose logit is not smaller as far as rounding can tell.

Derivations: attention_backward of the formula, attention_rounding of what wrong weights do to an average.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.softmax.bounds import (
    disturbed,
    exponent_error,
    normaliser_error,
    weight_error,
)
from veriformer.conformance_tests.rounding.precision import Precision


def softmax_backward_bound(logits: Array, grad_output: Array, precision: Precision) -> Array:
    """Return the largest rounding error of the gradient of softmax by its logits, entry by entry."""
    error = exponent_error(logits, precision)
    weights = ComputedWeights(logits, reference.softmax(logits), error, precision)
    gradients = logit_gradients(weights, GradWeights(grad_output, np.abs(grad_output)), precision)
    # The logits are given, so that what is left behind goes to larger ones, as they are.
    moved = Ranks(logits, np.zeros_like(logits)).sum_not_above(gradients.left_behind(weights, precision))
    bound = gradients.error + moved
    return np.asarray(bound + precision.output * (np.abs(gradients.value) + bound) + precision.tiny)


class ComputedWeights:
    """The computed weights: their errors and their largest values."""

    def __init__(self, logits: Array, weights: Array, error: Array, precision: Precision) -> None:
        self.logits, self.exact = logits, weights
        self.visible = np.isfinite(logits)
        self.logit_error = error
        # What is kept of the weights, recomputed from them, or rounded on the way is every kernel's own.
        precision = replace(precision, fused=False)
        softmax = disturbed(logits, self.logit_error)
        self.error = np.where(self.visible, weight_error(softmax, precision), 0.0)
        shared = precision.growth(logits.shape[-1]) + precision.stored + precision.output
        self.rounding = shared + normaliser_error(softmax.normaliser, precision)
        self.largest = np.minimum(weights + self.error, 1.0 + self.rounding + 2.0 * precision.tiny)
        self.apart = self._computed_twice(softmax.normaliser, precision)

    def _computed_twice(self, normaliser: Array, precision: Precision) -> Array:
        """Return ρ, the relative difference between two computations of the weights from the same logits."""
        seen = np.where(self.visible, self.logits, normaliser)
        highest = np.max(self.logits, axis=-1, keepdims=True, initial=-np.inf)
        far = np.abs(seen - normaliser) + np.where(self.visible, highest - seen, 0.0) + 6.0
        shared = precision.growth(self.logits.shape[-1]) + normaliser_error(normaliser, precision)
        return np.asarray(np.minimum(precision.logarithm * far + shared, 1.0))


@dataclass(frozen=True)
class GradWeights:
    """The gradients dp of the weights, the magnitude M of their terms, and γ of the number of these: 0 if given.

    `carried` is by how much each is wrong because of wrong factors.
    """

    value: Array
    magnitude: Array
    growth: float = 0.0
    # Roundings of each entry, those of its sum apart.
    roundings: float = 0.0
    # Whether the last weight is a sink's, whose gradient is 0.
    beside_sink: bool = False
    carried: Array | float = 0.0
    # Whether their average may be put together from those of parts of the keys.
    in_parts: bool = False


@dataclass(frozen=True)
class LogitGradients:
    """The exact gradients of the logits, their errors, and those of right weights: ds, e and r."""

    value: Array
    error: Array
    rounding: Array

    def left_behind(self, weights: ComputedWeights, precision: Precision) -> Array:
        """Return l, what each key may leave to another by the gradient of a maximum that is not stopped."""
        of_sum = precision.growth(self.value.shape[-1]) + 2.0 * precision.stored
        return np.where(weights.visible, self.rounding + of_sum * (np.abs(self.value) + self.error), 0.0)


def logit_gradients(weights: ComputedWeights, given: GradWeights, precision: Precision) -> LogitGradients:
    """Return the gradients of the logits and their errors."""
    unit, keys = precision.stored, weights.logits.shape[-1]
    grad_weights = np.where(weights.visible, given.value, 0.0)
    average = np.sum(weights.exact * grad_weights, axis=-1, keepdims=True)
    spread = np.where(weights.visible, np.abs(grad_weights - average), 0.0)
    average_magnitude = np.sum(weights.largest * given.magnitude, axis=-1, keepdims=True)
    if given.beside_sink:
        average_magnitude = _of_keys_alone(average_magnitude, weights, given)
    rounded = (2.0 * precision.growth(keys) + given.growth + 8.0 * unit) * average_magnitude
    if given.in_parts:
        most = np.max(np.where(weights.visible, given.magnitude, 0.0), axis=-1, keepdims=True, initial=0.0)
        rounded = np.maximum(rounded, (precision.growth(keys) + given.growth + 4.0 * unit) * most)
    rounded += precision.tiny * (1.0 + keys)
    own = (given.growth + given.roundings * unit) * given.magnitude + precision.tiny
    own = own + unit * (np.abs(grad_weights) + np.abs(average)) + given.carried
    # A share that the weights are multiplied by is itself a quotient of a rounded exponential and sum.
    factors = 6.0 if given.beside_sink else 2.0

    def multiplied(moved: Array) -> Array:
        """Return the error of p (dp − D), apart from that of the factor p."""
        change = own + moved
        change += factors * unit * (spread + change) + weights.apart * (np.abs(average) + moved)
        return np.where(weights.visible, weights.largest * change + precision.tiny, 0.0)

    of_weights = weights.rounding * average_magnitude + _moved_by_weights(weights.error, spread)
    if not isinstance(given.carried, float):
        of_weights = of_weights + np.sum(weights.largest * given.carried, axis=-1, keepdims=True)
    error = weights.error * spread + multiplied(rounded + of_weights)
    rounding = multiplied(rounded + weights.rounding * np.abs(average))
    return LogitGradients(weights.exact * (grad_weights - average), error, rounding)


def _of_keys_alone(average: Array, weights: ComputedWeights, given: GradWeights) -> Array:
    """Return an average of magnitudes with the weights of the keys alone, which sum to one without that of the sink."""
    most = np.max(np.where(weights.visible, given.magnitude, 0.0), axis=-1, keepdims=True)
    share = np.sum(weights.exact[..., :-1], axis=-1, keepdims=True)
    return np.where(average < most * share, average / np.where(share > 0.0, share, 1.0), most)


def _moved_by_weights(error: Array, spread: Array) -> Array:
    """Return how far wrong weights move the average of dp: no further than to the farthest, (..., L, 1)."""
    linear = np.sum(error * spread, axis=-1, keepdims=True)
    return np.asarray(np.minimum(linear, np.max(spread, axis=-1, keepdims=True, initial=0.0)))


class Ranks:
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
