"""Rounding error of the gradients of a bias and of sinks.

Behind the soft cap and the scale the gradient of a logit is wrong by e, see `softmax_backward.bounds`, and by what keys
leave to it by the gradient of a maximum, Σ l_j over those whose logits are no larger. It is the bias's own, summed over
whatever shares an entry, and rounded once more where it is stored, as in `going_back.summed_to`.

A sink is the last key, of value 0, so that its gradient −p_σ D is wrong by the same. Code that multiplies the output of
the keys by their share g, and differentiates that, takes 1 − g for p_σ. It is wrong by what g is, ν + 2u, however small
p_σ is, and counts with the average of the keys alone, which is max M at most.

Derivation: additions_backward.
"""

from __future__ import annotations

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.attention.bounds import AttentionTerms, logit_error
from veriformer.conformance_tests.operations.attention_backward.bounds import all_weights, grad_weights
from veriformer.conformance_tests.operations.softmax_backward.bounds import ComputedWeights, Ranks, logit_gradients
from veriformer.conformance_tests.rounding.estimates import Estimate
from veriformer.conformance_tests.rounding.going_back import summed_to
from veriformer.conformance_tests.rounding.precision import Precision


def bias_bound(terms: AttentionTerms, grad_output: Array, shape: tuple[int, ...], precision: Precision) -> Array:
    """Return the largest rounding error of the gradient of a bias of this shape, entry by entry."""
    of_logits, _ = _gradients(terms, grad_output, precision)
    keys = slice(terms.key.shape[-2])
    return summed_to(shape, of_logits.mapped(lambda array: array[..., keys]), precision).error


def sinks_bound(terms: AttentionTerms, grad_output: Array, precision: Precision) -> Array:
    """Return the largest rounding error of the gradients of the sinks, (H,)."""
    of_logits, of_share = _gradients(terms, grad_output, precision)
    of_sinks = Estimate(of_logits.value[..., -1:], of_logits.error[..., -1:] + of_share)
    return summed_to((terms.query.shape[1], 1, 1), of_sinks, precision).error[:, 0, 0]


def _gradients(terms: AttentionTerms, grad_output: Array, precision: Precision) -> tuple[Estimate, Array]:
    """Return the gradients of all logits, the sink's last, and what an error of the keys' share adds to the sink's."""
    weights = ComputedWeights(terms.all_logits, all_weights(terms), logit_error(terms, precision), precision)
    of_weights = grad_weights(terms, grad_output, None, precision)
    gradients = logit_gradients(weights, of_weights, precision)
    left = gradients.left_behind(weights, precision)
    moved = Ranks(terms.all_logits, weights.logit_error).sum_not_above(left)
    # No average of the gradients of weights is larger than the largest of them.
    most = np.max(np.where(weights.visible, of_weights.magnitude, 0.0), axis=-1, keepdims=True)
    share = (weights.rounding + 2.0 * precision.stored) * most
    return Estimate(gradients.value, np.where(weights.visible, gradients.error + moved, 0.0)), share
