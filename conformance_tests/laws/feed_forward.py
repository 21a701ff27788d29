"""Activation functions, and the networks that are applied to each position alone."""

from __future__ import annotations

import numpy as np
from veriformer.conformance_tests.cases.spaces import EXACT_PALETTES, FeedForwardSpace, VectorSpace
from veriformer.conformance_tests.inputs.feed_forward import ActivationInputs, FeedForwardInputs
from veriformer.conformance_tests.law import judges
from veriformer.conformance_tests.trial import Trial
from veriformer.conformance_tests.verdict import Verdict, compare

Array = np.ndarray
_ACTIVATIONS = ("gelu", "silu")
_PLAIN = ("feed_forward",)
_GATED = ("gated_feed_forward",)
_NETWORKS = (*_PLAIN, *_GATED)
_FREE = FeedForwardSpace()
# Beyond any x at which e^x, or e^(1.702 x), is still a number: in float64 from 710 on.
_FAR = 1024.0


@judges("value", space=VectorSpace(), operations=_ACTIVATIONS)
@judges("value", space=_FREE, operations=_NETWORKS)
def agrees_with_formula(trial: Trial) -> Verdict:
    """The result is the formula's."""
    return trial.agrees()


@judges("zero", space=VectorSpace(), operations=_ACTIVATIONS)
def zero(trial: Trial) -> Verdict:
    """Zeros stay zeros, to the last digit."""
    zeros = np.zeros(trial.inputs.x.shape)
    return compare(zeros, trial.output(trial.inputs.with_x(zeros)), zeros)


@judges("reflection", space=VectorSpace(), operations=_ACTIVATIONS)
def reflection(trial: Trial) -> Verdict:
    """The result minus that of the mirror image is the entry itself."""
    inputs: ActivationInputs = trial.inputs
    mirrored = inputs.with_x(-inputs.x)
    difference = trial.output(inputs) - trial.output(mirrored)
    return compare(inputs.x, difference, _allowed(trial, inputs, mirrored))


@judges("between", space=VectorSpace(), operations=_ACTIVATIONS)
def between(trial: Trial) -> Verdict:
    """No result lies beyond zero or beyond its entry."""
    inputs: ActivationInputs = trial.inputs
    output = trial.output(inputs)
    nearest = np.clip(output, np.minimum(inputs.x, 0.0), np.maximum(inputs.x, 0.0))
    return compare(np.where(np.isnan(output), 0.0, nearest), output, _allowed(trial, inputs))


@judges("increasing", space=VectorSpace(least_width=2), operations=_ACTIVATIONS)
def increasing(trial: Trial) -> Verdict:
    """Entries that are not negative, in ascending order, give results in ascending order."""
    inputs: ActivationInputs = trial.inputs
    ascending = inputs.with_x(np.sort(np.abs(inputs.x), axis=-1))
    allowed = _allowed(trial, ascending)
    steps = np.diff(trial.output(ascending), axis=-1)
    upwards = np.where(np.isnan(steps), 0.0, np.maximum(steps, 0.0))
    return compare(upwards, steps, allowed[..., 1:] + allowed[..., :-1])


@judges("tails", space=VectorSpace(), operations=_ACTIVATIONS)
def tails(trial: Trial) -> Verdict:
    """Entries so far from zero that the gate is one or nothing."""
    inputs: ActivationInputs = trial.inputs
    signs = trial.generator.choice([-1.0, 1.0], inputs.x.shape)
    far = inputs.with_x(signs * _FAR * trial.generator.integers(1, 5, inputs.x.shape))
    return compare(np.maximum(far.x, 0.0), trial.output(far), _allowed(trial, far))


@judges("elementwise", space=VectorSpace(least_width=2), operations=_ACTIVATIONS)
def elementwise(trial: Trial) -> Verdict:
    """The last entry alone gives what it gives beside the others."""
    alone = trial.inputs.with_x(trial.inputs.x[-1:, -1:, -1:])
    return trial.equal(alone, trial.inputs, of_second=lambda result: result[-1:, -1:, -1:])


@judges("biases", space=FeedForwardSpace(biases="never"), operations=_PLAIN)
def biases(trial: Trial) -> Verdict:
    """Biases of zeros give what None gives."""
    inputs: FeedForwardInputs = trial.inputs
    zeros = inputs.with_weights(b_1=np.zeros(inputs.hidden), b_2=np.zeros(inputs.x.shape[-1]))
    return trial.equal(zeros, inputs)


@judges("output_bias", space=FeedForwardSpace(biases="always"), operations=_PLAIN)
def output_bias(trial: Trial) -> Verdict:
    """A second matrix of zeros leaves the second bias."""
    inputs: FeedForwardInputs = trial.inputs
    return trial.agrees(inputs.with_weights(w_2=np.zeros_like(inputs.weights.w_2)))


@judges("hidden.permutation", space=FeedForwardSpace(least_hidden=2), operations=_NETWORKS)
def hidden_order(trial: Trial) -> Verdict:
    """Hidden units in another order give the same."""
    inputs: FeedForwardInputs = trial.inputs
    return trial.equal(inputs, inputs.take_units(trial.permutation(inputs.hidden)))


@judges("hidden.sum", space=FeedForwardSpace(least_hidden=2, biases="never"), operations=_NETWORKS)
def hidden_sum(trial: Trial) -> Verdict:
    """The first half of the hidden units and the second, each a network of its own, add up to the whole."""
    inputs: FeedForwardInputs = trial.inputs
    first, second = (inputs.take_units(part) for part in np.array_split(np.arange(inputs.hidden), 2))
    total = trial.output(first) + trial.output(second)
    return compare(total, trial.output(inputs), _allowed(trial, first, second, inputs))


@judges("relu_homogeneity", space=FeedForwardSpace(activations=("relu",), biases="never"), operations=_PLAIN)
def relu_homogeneity(trial: Trial) -> Verdict:
    """The input scaled by a power of two gives the result scaled alike."""
    inputs: FeedForwardInputs = trial.inputs
    factor = float(trial.generator.choice([0.5, 2.0]))
    scaled = inputs.with_x(factor * inputs.x)
    allowed = factor * _allowed(trial, inputs) + _allowed(trial, scaled)
    return compare(factor * trial.output(inputs), trial.output(scaled), allowed)


@judges("batch.independence", space=FeedForwardSpace(least_rows=2), operations=_NETWORKS)
def positions_alone(trial: Trial) -> Verdict:
    """The last position alone gives what it gives beside the others."""
    alone = trial.inputs.with_x(trial.inputs.x[-1:, -1:])
    return trial.equal(alone, trial.inputs, of_second=lambda result: result[-1:, -1:])


@judges("up_branch.linear", space=FeedForwardSpace(palettes=EXACT_PALETTES), operations=_GATED)
def up_branch_linear(trial: Trial) -> Verdict:
    """Two matrices of the branch that is not activated, and their sum."""
    inputs: FeedForwardInputs = trial.inputs
    other_matrix = trial.generator.integers(-2, 3, inputs.weights.w_up.shape).astype(float)
    other = inputs.with_weights(w_up=other_matrix)
    both = inputs.with_weights(w_up=inputs.weights.w_up + other_matrix)
    total = trial.output(inputs) + trial.output(other)
    return compare(total, trial.output(both), _allowed(trial, inputs, other, both))


@judges("up_branch.sign", space=_FREE, operations=_GATED)
def up_branch_sign(trial: Trial) -> Verdict:
    """The matrix of the branch that is not activated, negated."""
    inputs: FeedForwardInputs = trial.inputs
    negated = inputs.with_weights(w_up=-inputs.weights.w_up)
    return compare(-trial.output(inputs), trial.output(negated), _allowed(trial, inputs, negated))


@judges("zero_gate", space=_FREE, operations=_GATED)
def zero_gate(trial: Trial) -> Verdict:
    """A gate matrix of zeros gives zeros."""
    inputs: FeedForwardInputs = trial.inputs
    return trial.agrees(inputs.with_weights(w_gate=np.zeros_like(inputs.weights.w_gate)))


def _allowed(trial: Trial, *inputs: ActivationInputs | FeedForwardInputs) -> Array:
    """Return what the results of these inputs may err by, in sum."""
    errors = [trial.expected(one).allowed for one in inputs]
    return np.asarray(sum(errors[1:], start=errors[0]))
