"""Laws of the gradient of softmax."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from veriformer.conformance_tests.core.law import judges
from veriformer.conformance_tests.core.trial import Trial
from veriformer.conformance_tests.core.verdict import Verdict, compare
from veriformer.conformance_tests.drawing.space import EXACT_PALETTES
from veriformer.conformance_tests.drawing.vectors import VectorSpace
from veriformer.conformance_tests.operations.gradients import agrees_in, linear, without_grad_output
from veriformer.conformance_tests.operations.softmax_backward.inputs import SoftmaxBackwardInputs

_SOFTMAX = ("softmax_backward",)
_SEVERAL = VectorSpace(least_width=2)

judges("grad_x", space=VectorSpace(), operations=_SOFTMAX)(agrees_in())
judges("large_logits", space=VectorSpace(amplitudes=(100,), palettes=("integers", "normal")), operations=_SOFTMAX)(
    agrees_in()
)
judges("grad_output.linear", space=VectorSpace(palettes=EXACT_PALETTES), operations=_SOFTMAX)(linear)
judges("grad_output.zero", space=VectorSpace(), operations=_SOFTMAX)(without_grad_output)


@judges("rows_sum_to_zero", space=_SEVERAL, operations=_SOFTMAX)
def rows_sum_to_zero(trial: Trial[SoftmaxBackwardInputs]) -> Verdict:
    """The gradients of each row sum to zero."""
    sums = trial.output(trial.inputs).sum(axis=-1)
    return compare(np.zeros(sums.shape), sums, trial.allowed(trial.inputs).sum(axis=-1))


@judges("grad_output.equal", space=_SEVERAL, operations=_SOFTMAX)
def equal_gradients(trial: Trial[SoftmaxBackwardInputs]) -> Verdict:
    """The gradient of the first weight of each row, given to all of the row, leaves the logits without one."""
    inputs = trial.inputs
    equal = inputs.with_grad_output(np.broadcast_to(inputs.grad_output[..., :1], inputs.x.shape))
    output = trial.output(equal)
    return compare(np.zeros(output.shape), output, trial.allowed(equal))


@judges("shift", space=replace(_SEVERAL, palettes=EXACT_PALETTES), operations=_SOFTMAX)
def shift(trial: Trial[SoftmaxBackwardInputs]) -> Verdict:
    """Adding one number to a whole row changes nothing."""
    x = trial.inputs.x
    added = trial.generator.integers(1, 9, (*x.shape[:-1], 1)).astype(float)
    return trial.equal(trial.inputs, trial.inputs.with_x(x + added))


@judges("minus_infinity", space=_SEVERAL, operations=_SOFTMAX)
def minus_infinity(trial: Trial[SoftmaxBackwardInputs]) -> Verdict:
    """A logit of −∞ has no gradient."""
    x = trial.inputs.x.copy()
    hidden = int(trial.generator.integers(x.shape[-1]))
    x[..., hidden] = -np.inf
    return trial.agrees(trial.inputs.with_x(x))


@judges("permutation", space=_SEVERAL, operations=_SOFTMAX)
def permutation(trial: Trial[SoftmaxBackwardInputs]) -> Verdict:
    """Logits and gradients of their weights in another order give gradients in that order."""
    inputs = trial.inputs
    order = trial.permutation(inputs.x.shape[-1])
    reordered = inputs.with_x(inputs.x[..., order]).with_grad_output(inputs.grad_output[..., order])
    return trial.equal(inputs, reordered, of_first=lambda result: result[..., order])


@judges("batch.independence", space=replace(_SEVERAL, least_rows=2), operations=_SOFTMAX)
def rows_alone(trial: Trial[SoftmaxBackwardInputs]) -> Verdict:
    """The last row gives the same result alone as in its batch."""
    inputs = trial.inputs
    alone = replace(inputs, x=inputs.x[-1:, -1:], grad_output=inputs.grad_output[-1:, -1:])
    return trial.equal(alone, inputs, of_second=lambda result: result[-1:, -1:])
