"""Laws of the gradients of GELU and SiLU."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from veriformer.conformance_tests.core.law import judges
from veriformer.conformance_tests.core.trial import Trial
from veriformer.conformance_tests.core.verdict import Verdict, compare
from veriformer.conformance_tests.drawing.space import EXACT_PALETTES
from veriformer.conformance_tests.drawing.vectors import VectorSpace
from veriformer.conformance_tests.operations.activations_backward.inputs import ActivationBackwardInputs
from veriformer.conformance_tests.operations.gradients import linear, without_grad_output
from veriformer.conformance_tests.operations.parts import agrees_in

_BACKWARD = ("gelu_backward", "silu_backward")
# Beyond any x at which e^x, or e^(1.702 x), is still a number: in float64 from 710 on. In float16 3x² is one up to 147.
_FAR = {"float16": 32.0, "bfloat16": 128.0, "float32": 128.0, "float64": 1024.0}
# Far enough for the derivative to be one or nothing to the last bit, and near enough for the bound of the tanh form,
# which grows as the cube of x, to be small.
_NEAR = {"float16": 32.0, "bfloat16": 32.0, "float32": 32.0, "float64": 64.0}

judges("grad_x", space=VectorSpace(), operations=_BACKWARD)(agrees_in())
judges("grad_output.linear", space=VectorSpace(palettes=EXACT_PALETTES), operations=_BACKWARD)(linear)
judges("grad_output.zero", space=VectorSpace(), operations=_BACKWARD)(without_grad_output)


@judges("reflection", space=VectorSpace(), operations=_BACKWARD)
def reflection(trial: Trial[ActivationBackwardInputs]) -> Verdict:
    """The gradients of an entry and of its negation sum to that of the result."""
    inputs = trial.inputs
    mirrored = inputs.with_x(-inputs.x)
    total = trial.output(inputs) + trial.output(mirrored)
    return compare(inputs.grad_output, total, trial.allowed(inputs, mirrored))


@judges("zero", space=VectorSpace(), operations=_BACKWARD)
def zero(trial: Trial[ActivationBackwardInputs]) -> Verdict:
    """Zeros pass on half of the gradients."""
    inputs = trial.inputs.with_x(np.zeros(trial.inputs.x.shape))
    return compare(inputs.grad_output / 2.0, trial.output(inputs), trial.allowed(inputs))


@judges("tails", space=VectorSpace(), operations=_BACKWARD)
def tails(trial: Trial[ActivationBackwardInputs]) -> Verdict:
    """Entries so far from zero that the derivative is one or nothing."""
    inputs = trial.inputs
    signs = trial.generator.choice([-1.0, 1.0], inputs.x.shape)
    far_off, near = _FAR[inputs.dtype], _NEAR[inputs.dtype]
    distances = trial.generator.choice([near, 1.5 * near, far_off, 2.0 * far_off, 3.5 * far_off], inputs.x.shape)
    far = inputs.with_x(signs * distances)
    expected = np.where(far.x > 0.0, inputs.grad_output, 0.0)
    return compare(expected, trial.output(far), trial.allowed(far))


@judges("elementwise", space=VectorSpace(least_width=2), operations=_BACKWARD)
def elementwise(trial: Trial[ActivationBackwardInputs]) -> Verdict:
    """The last entry gets the same gradient alone as among the others."""
    inputs = trial.inputs
    alone = replace(inputs, x=inputs.x[-1:, -1:, -1:], grad_output=inputs.grad_output[-1:, -1:, -1:])
    return trial.equal(alone, inputs, of_second=lambda result: result[-1:, -1:, -1:])
