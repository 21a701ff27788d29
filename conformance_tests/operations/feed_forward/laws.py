"""Laws of feed-forward networks, plain and gated."""

from __future__ import annotations

import numpy as np
from veriformer.conformance_tests.core.law import judges
from veriformer.conformance_tests.core.trial import Trial
from veriformer.conformance_tests.core.verdict import Verdict, compare
from veriformer.conformance_tests.drawing.space import EXACT_PALETTES
from veriformer.conformance_tests.operations.feed_forward.cases import FeedForwardSpace
from veriformer.conformance_tests.operations.feed_forward.inputs import (
    FeedForwardInputs,
    FeedForwardMatrices,
    GatedMatrices,
    NetworkInputs,
)

_PLAIN = ("feed_forward",)
_GATED = ("gated_feed_forward",)
_NETWORKS = (*_PLAIN, *_GATED)
_FREE = FeedForwardSpace()


@judges("value", space=_FREE, operations=_NETWORKS)
def agrees_with_formula(trial: Trial[NetworkInputs]) -> Verdict:
    """The result is the formula's."""
    return trial.agrees()


@judges("biases", space=FeedForwardSpace(biases="never"), operations=_PLAIN)
def biases(trial: Trial[FeedForwardInputs[FeedForwardMatrices]]) -> Verdict:
    """Biases of zeros give the same result as None."""
    inputs = trial.inputs
    zeros = inputs.with_weights(b_1=np.zeros(inputs.hidden), b_2=np.zeros(inputs.x.shape[-1]))
    return trial.equal(zeros, inputs)


@judges("output_bias", space=FeedForwardSpace(biases="always"), operations=_PLAIN)
def output_bias(trial: Trial[FeedForwardInputs[FeedForwardMatrices]]) -> Verdict:
    """A second matrix of zeros leaves the second bias."""
    inputs = trial.inputs
    return trial.agrees(inputs.with_weights(w_2=np.zeros_like(inputs.weights.w_2)))


@judges("hidden.permutation", space=FeedForwardSpace(least_hidden=2), operations=_NETWORKS)
def hidden_order(trial: Trial[NetworkInputs]) -> Verdict:
    """Hidden units in another order give the same."""
    inputs = trial.inputs
    return trial.equal(inputs, inputs.take_units(trial.permutation(inputs.hidden)))


@judges("hidden.sum", space=FeedForwardSpace(least_hidden=2, biases="never"), operations=_NETWORKS)
def hidden_sum(trial: Trial[NetworkInputs]) -> Verdict:
    """The first half of the hidden units and the second, each a network of its own, add up to the whole."""
    inputs = trial.inputs
    first, second = (inputs.take_units(part) for part in np.array_split(np.arange(inputs.hidden), 2))
    total = trial.output(first) + trial.output(second)
    return compare(total, trial.output(inputs), trial.allowed(first, second, inputs))


@judges("relu_homogeneity", space=FeedForwardSpace(activations=("relu",), biases="never"), operations=_PLAIN)
def relu_homogeneity(trial: Trial[FeedForwardInputs[FeedForwardMatrices]]) -> Verdict:
    """The input scaled by a power of two gives the result scaled by the same power."""
    inputs = trial.inputs
    factor = float(trial.generator.choice([0.5, 2.0]))
    scaled = inputs.with_x(factor * inputs.x)
    allowed = factor * trial.allowed(inputs) + trial.allowed(scaled)
    return compare(factor * trial.output(inputs), trial.output(scaled), allowed)


@judges("batch.independence", space=FeedForwardSpace(least_rows=2), operations=_NETWORKS)
def positions_alone(trial: Trial[NetworkInputs]) -> Verdict:
    """The last position gives the same result alone as among the others."""
    alone = trial.inputs.with_x(trial.inputs.x[-1:, -1:])
    return trial.equal(alone, trial.inputs, of_second=lambda result: result[-1:, -1:])


@judges("up_branch.linear", space=FeedForwardSpace(palettes=EXACT_PALETTES), operations=_GATED)
def up_branch_linear(trial: Trial[FeedForwardInputs[GatedMatrices]]) -> Verdict:
    """Two matrices of the branch that is not activated, and their sum."""
    inputs = trial.inputs
    other_matrix = trial.generator.integers(-2, 3, inputs.weights.w_up.shape).astype(float)
    other = inputs.with_weights(w_up=other_matrix)
    both = inputs.with_weights(w_up=inputs.weights.w_up + other_matrix)
    total = trial.output(inputs) + trial.output(other)
    return compare(total, trial.output(both), trial.allowed(inputs, other, both))


@judges("up_branch.sign", space=_FREE, operations=_GATED)
def up_branch_sign(trial: Trial[FeedForwardInputs[GatedMatrices]]) -> Verdict:
    """The matrix of the branch that is not activated, negated."""
    inputs = trial.inputs
    negated = inputs.with_weights(w_up=-inputs.weights.w_up)
    return compare(-trial.output(inputs), trial.output(negated), trial.allowed(inputs, negated))


@judges("zero_gate", space=_FREE, operations=_GATED)
def zero_gate(trial: Trial[FeedForwardInputs[GatedMatrices]]) -> Verdict:
    """A gate matrix of zeros gives zeros."""
    inputs = trial.inputs
    return trial.agrees(inputs.with_weights(w_gate=np.zeros_like(inputs.weights.w_gate)))
