"""Laws of the gradients of feed-forward networks, plain and gated."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from veriformer.conformance_tests.core.law import judges
from veriformer.conformance_tests.core.trial import Trial
from veriformer.conformance_tests.core.verdict import Verdict, compare
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.space import EXACT_PALETTES
from veriformer.conformance_tests.drawing.values import round_to_dtype
from veriformer.conformance_tests.operations.feed_forward.cases import FeedForwardSpace
from veriformer.conformance_tests.operations.feed_forward.inputs import FeedForwardMatrices, GatedMatrices
from veriformer.conformance_tests.operations.feed_forward_backward.inputs import (
    AnyNetworkBackward,
    NetworkBackwardInputs,
)
from veriformer.conformance_tests.operations.gradients import added_up, equal, linear, without_grad_output
from veriformer.conformance_tests.operations.parts import agrees, agrees_in, worst
from veriformer.conformance_tests.rounding.precision import UNIT_ROUNDOFF

PlainTrial = Trial[NetworkBackwardInputs[FeedForwardMatrices]]
GatedTrial = Trial[NetworkBackwardInputs[GatedMatrices]]

_PLAIN = ("feed_forward_backward",)
_GATED = ("gated_feed_forward_backward",)
_NETWORKS = (*_PLAIN, *_GATED)
_FREE = FeedForwardSpace()
_BIASED = FeedForwardSpace(biases="always")
_SMOOTH = FeedForwardSpace(biases="never", activations=("gelu", "silu"))

judges("grad_x", space=_FREE, operations=_NETWORKS)(agrees_in("grad_x"))
for _name in ("grad_w_1", "grad_w_2"):
    judges(_name, space=_FREE, operations=_PLAIN)(agrees_in(_name))
for _name in ("grad_b_1", "grad_b_2"):
    judges(_name, space=_BIASED, operations=_PLAIN)(agrees_in(_name))
for _name in ("grad_w_gate", "grad_w_up", "grad_w_down"):
    judges(_name, space=_FREE, operations=_GATED)(agrees_in(_name))
judges("grad_output.linear", space=FeedForwardSpace(palettes=EXACT_PALETTES), operations=_NETWORKS)(linear)
judges("grad_output.zero", space=_FREE, operations=_NETWORKS)(without_grad_output)


@judges("grad_b_2.whole_numbers", space=FeedForwardSpace(biases="always", palettes=EXACT_PALETTES), operations=_PLAIN)
def whole_numbers(trial: PlainTrial) -> Verdict:
    """Gradients of small whole numbers are added up without rounding, as far as the dtype counts."""
    inputs = trial.inputs
    part, given = inputs.part("grad_b_2"), inputs.grad_output.reshape(-1, inputs.x.shape[-1])
    counted = np.abs(given).sum(axis=0) * UNIT_ROUNDOFF[inputs.dtype] <= 1.0
    allowed = np.where(counted, 0.0, part(trial.allowed(inputs)))
    return compare(given.sum(axis=0), part(trial.output(inputs)), allowed, None, "grad_b_2")


@judges("biases", space=FeedForwardSpace(biases="never"), operations=_PLAIN)
def biases(trial: PlainTrial) -> Verdict:
    """Biases of zeros give the other gradients as None does."""
    inputs = trial.inputs
    zeros = inputs.with_weights(b_1=np.zeros(inputs.hidden), b_2=np.zeros(inputs.x.shape[-1]))
    return equal(trial, inputs, zeros)


@judges("b_2_unused", space=_BIASED, operations=_PLAIN)
def last_bias_unused(trial: PlainTrial) -> Verdict:
    """Without the second bias's numbers the gradients are the same."""
    inputs = trial.inputs
    return equal(trial, inputs.with_weights(b_2=np.zeros(inputs.x.shape[-1])), inputs)


@judges("relu.off", space=FeedForwardSpace(biases="always", activations=("relu",)), operations=_PLAIN)
def all_units_off(trial: PlainTrial) -> Verdict:
    """A bias that is lower than every product is high sets every unit to zero."""
    inputs = trial.inputs
    highest = np.abs(inputs.x @ inputs.weights.w_1).max(axis=(0, 1))
    return agrees(trial, inputs.with_weights(b_1=round_to_dtype(-1.0 - 2.0 * highest, inputs.dtype)))


@judges("relu_homogeneity", space=FeedForwardSpace(activations=("relu",), biases="never"), operations=_PLAIN)
def relu_homogeneity(trial: PlainTrial) -> Verdict:
    """Vectors scaled by a power of two: their gradients stay, those of the matrices are scaled by it."""
    inputs = trial.inputs
    factor = float(trial.generator.choice([0.5, 2.0]))

    def scaled(name: str, part: Array) -> Array:
        return part if name == "grad_x" else factor * part

    return equal(trial, inputs, inputs.with_x(factor * inputs.x), of_first=scaled)


@judges("w_2.along_itself", space=_SMOOTH, operations=_PLAIN)
def second_along_itself(trial: PlainTrial) -> Verdict:
    """The sum of the second matrix times its gradient, and of outputs times theirs."""
    return _along(trial, "w_2")


@judges("w_up.along_itself", space=_SMOOTH, operations=_GATED)
def both_along_themselves(trial: GatedTrial) -> Verdict:
    """The sums of two matrices times their gradients, and of outputs times theirs."""
    return worst((_along(trial, "w_up"), _along(trial, "w_down")))


def _along(trial: Trial[AnyNetworkBackward], name: str) -> Verdict:
    """Judge Σ W ⊙ dW of a matrix in which the output is linear; the outputs are those of the formula."""
    inputs = trial.inputs
    part, matrix = inputs.part(f"grad_{name}"), getattr(inputs.weights, name)
    expected = np.sum(inputs.grad_output * inputs.forward(trial.conventions["gelu_form"]))
    received = np.sum(matrix * part(trial.output(inputs)))
    return compare(expected, received, np.sum(np.abs(matrix) * part(trial.allowed(inputs))), None, f"grad_{name}")


@judges("hidden.permutation", space=FeedForwardSpace(least_hidden=2), operations=_NETWORKS)
def hidden_order(trial: Trial[AnyNetworkBackward]) -> Verdict:
    """Hidden units in another order give their gradients in that order."""
    inputs = trial.inputs
    order = trial.permutation(inputs.hidden)

    def moved(name: str, part: Array) -> Array:
        if name in ("grad_x", "grad_b_2"):
            return part
        return part[order] if name in ("grad_w_2", "grad_w_down") else part[..., order]

    return equal(trial, inputs, inputs.take_units(order), of_first=moved)


@judges("hidden.sum", space=FeedForwardSpace(least_hidden=2), operations=_NETWORKS)
def hidden_sum(trial: Trial[AnyNetworkBackward]) -> Verdict:
    """The gradients of x through the first half of the hidden units and through the second add up."""
    inputs = trial.inputs
    halves = [inputs.take_units(part) for part in np.array_split(np.arange(inputs.hidden), 2)]
    return added_up(trial, halves, ("grad_x",))


@judges("batch.independence", space=FeedForwardSpace(least_rows=2), operations=_NETWORKS)
def vectors_alone(trial: Trial[AnyNetworkBackward]) -> Verdict:
    """The gradient of the last vector is the same alone as among the others."""
    inputs = trial.inputs
    return equal(
        trial,
        inputs.with_rows(lambda array: array[-1:, -1:]),
        inputs,
        *(_of_x(lambda part: part), _of_x(lambda part: part[-1:, -1:])),
    )


def _of_x(take: Callable[[Array], Array]) -> Callable[[str, Array], Array]:
    """Return the selection of some of x's gradient, and of nothing of the weights' gradients."""
    return lambda name, part: take(part) if name == "grad_x" else part.ravel()[:0]


@judges("rows.additive", space=FeedForwardSpace(least_rows=2), operations=_NETWORKS)
def additive(trial: Trial[AnyNetworkBackward]) -> Verdict:
    """The weights' gradients over the first row of each sample and over the others add up to those over all."""
    inputs = trial.inputs
    shares = [inputs.with_rows(lambda array, part=part: array[:, part]) for part in (slice(1), slice(1, None))]
    return added_up(trial, shares, tuple(name for name in inputs.parts if name != "grad_x"))


@judges("rows.permutation", space=FeedForwardSpace(least_rows=2), operations=_NETWORKS)
def row_order(trial: Trial[AnyNetworkBackward]) -> Verdict:
    """Vectors in another order give their gradients in that order, and the same of the weights."""
    inputs = trial.inputs
    order = trial.permutation(inputs.x.shape[1])

    def moved(name: str, part: Array) -> Array:
        return part[:, order] if name == "grad_x" else part

    return equal(trial, inputs, inputs.with_rows(lambda array: array[:, order]), of_first=moved)


@judges("up_branch.sign", space=_FREE, operations=_GATED)
def up_branch_sign(trial: GatedTrial) -> Verdict:
    """The matrix of the branch that is not activated, negated."""
    inputs = trial.inputs
    negated = inputs.with_weights(w_up=-inputs.weights.w_up)
    outputs, allowed = (trial.output(inputs), trial.output(negated)), trial.allowed(inputs, negated)

    def judge(name: str) -> Verdict:
        part, sign = inputs.part(name), 1.0 if name == "grad_w_up" else -1.0
        return compare(sign * part(outputs[0]), part(outputs[1]), part(allowed), None, name)

    return worst(map(judge, inputs.parts))


@judges("zero_gate", space=_FREE, operations=_GATED)
def zero_gate(trial: GatedTrial) -> Verdict:
    """A gate matrix of zeros leaves the other matrices and the vectors without gradients."""
    inputs = trial.inputs
    closed = inputs.with_weights(w_gate=np.zeros_like(inputs.weights.w_gate))
    return agrees(trial, closed, "grad_x", "grad_w_up", "grad_w_down")
