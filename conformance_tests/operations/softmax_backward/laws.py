"""Laws of the gradient of softmax."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from veriformer.conformance_tests.core.law import judges
from veriformer.conformance_tests.core.trial import Trial
from veriformer.conformance_tests.core.verdict import Verdict, compare
from veriformer.conformance_tests.drawing.space import EXACT_PALETTES
from veriformer.conformance_tests.drawing.vectors import VectorSpace
from veriformer.conformance_tests.operations.gradients import linear, rows_sum_to_zero, without_grad_output
from veriformer.conformance_tests.operations.parts import agrees_in
from veriformer.conformance_tests.operations.softmax.laws import minus_infinity, shift
from veriformer.conformance_tests.operations.softmax_backward.inputs import SoftmaxBackwardInputs

_SOFTMAX = ("softmax_backward",)
_SEVERAL = VectorSpace(least_width=2)

judges("grad_x", space=VectorSpace(), operations=_SOFTMAX)(agrees_in())
judges("large_logits", space=VectorSpace(amplitudes=(100,), palettes=("integers", "normal")), operations=_SOFTMAX)(
    agrees_in()
)
judges("grad_output.linear", space=VectorSpace(palettes=EXACT_PALETTES), operations=_SOFTMAX)(linear)
judges("grad_output.zero", space=VectorSpace(), operations=_SOFTMAX)(without_grad_output)
judges("rows_sum_to_zero", space=_SEVERAL, operations=_SOFTMAX)(rows_sum_to_zero)
judges("shift", space=replace(_SEVERAL, palettes=EXACT_PALETTES), operations=_SOFTMAX)(shift)
judges("minus_infinity", space=_SEVERAL, operations=_SOFTMAX)(minus_infinity)


@judges("grad_output.equal", space=_SEVERAL, operations=_SOFTMAX)
def equal_gradients(trial: Trial[SoftmaxBackwardInputs]) -> Verdict:
    """The gradient of the first weight of each row, given to all of the row, leaves the logits without one."""
    inputs = trial.inputs
    equal = inputs.with_cotangents(grad_output=np.broadcast_to(inputs.grad_output[..., :1], inputs.x.shape))
    output = trial.output(equal)
    return compare(np.zeros(output.shape), output, trial.allowed(equal))


@judges("permutation", space=_SEVERAL, operations=_SOFTMAX)
def permutation(trial: Trial[SoftmaxBackwardInputs]) -> Verdict:
    """Logits and gradients of their weights in another order give gradients in that order."""
    inputs = trial.inputs
    order = trial.permutation(inputs.x.shape[-1])
    reordered = inputs.with_x(inputs.x[..., order]).with_cotangents(grad_output=inputs.grad_output[..., order])
    return trial.equal(inputs, reordered, of_first=lambda result: result[..., order])


@judges("batch.independence", space=replace(_SEVERAL, least_rows=2), operations=_SOFTMAX)
def rows_alone(trial: Trial[SoftmaxBackwardInputs]) -> Verdict:
    """The last row gives the same result alone as in its batch."""
    inputs = trial.inputs
    alone = replace(inputs, x=inputs.x[-1:, -1:], grad_output=inputs.grad_output[-1:, -1:])
    return trial.equal(alone, inputs, of_second=lambda result: result[-1:, -1:])
