"""Laws of GELU and SiLU."""

from __future__ import annotations

import numpy as np
from veriformer.conformance_tests.core.law import judges
from veriformer.conformance_tests.core.trial import Trial
from veriformer.conformance_tests.core.verdict import Verdict, compare
from veriformer.conformance_tests.drawing.vectors import VectorSpace
from veriformer.conformance_tests.operations.activations.inputs import ActivationInputs

_ACTIVATIONS = ("gelu", "silu")
# Beyond any x at which e^x, or e^(1.702 x), is still a number: in float64 from 710 on.
_FAR = 1024.0


@judges("value", space=VectorSpace(), operations=_ACTIVATIONS)
def agrees_with_formula(trial: Trial[ActivationInputs]) -> Verdict:
    """The result is the formula's."""
    return trial.agrees()


@judges("zero", space=VectorSpace(), operations=_ACTIVATIONS)
def zero(trial: Trial[ActivationInputs]) -> Verdict:
    """Zeros stay zeros, to the last digit."""
    zeros = np.zeros(trial.inputs.x.shape)
    return compare(zeros, trial.output(trial.inputs.with_x(zeros)), zeros)


@judges("reflection", space=VectorSpace(), operations=_ACTIVATIONS)
def reflection(trial: Trial[ActivationInputs]) -> Verdict:
    """The result minus that of the negation is the entry itself."""
    inputs = trial.inputs
    mirrored = inputs.with_x(-inputs.x)
    difference = trial.output(inputs) - trial.output(mirrored)
    return compare(inputs.x, difference, trial.allowed(inputs, mirrored))


@judges("between", space=VectorSpace(), operations=_ACTIVATIONS)
def between(trial: Trial[ActivationInputs]) -> Verdict:
    """No result lies beyond zero or beyond its entry."""
    inputs = trial.inputs
    output = trial.output(inputs)
    nearest = np.clip(output, np.minimum(inputs.x, 0.0), np.maximum(inputs.x, 0.0))
    return compare(np.where(np.isnan(output), 0.0, nearest), output, trial.allowed(inputs))


@judges("increasing", space=VectorSpace(least_width=2), operations=_ACTIVATIONS)
def increasing(trial: Trial[ActivationInputs]) -> Verdict:
    """Entries that are not negative, in ascending order, give results in ascending order."""
    inputs = trial.inputs
    ascending = inputs.with_x(np.sort(np.abs(inputs.x), axis=-1))
    allowed = trial.allowed(ascending)
    output = trial.output(ascending)
    with np.errstate(invalid="ignore"):
        steps = np.diff(output, axis=-1)
    upwards = np.where(np.isnan(steps), 0.0, np.maximum(steps, 0.0))
    return compare(upwards, steps, allowed[..., 1:] + allowed[..., :-1])


@judges("tails", space=VectorSpace(), operations=_ACTIVATIONS)
def tails(trial: Trial[ActivationInputs]) -> Verdict:
    """Entries so far from zero that the gate is one or nothing."""
    inputs = trial.inputs
    signs = trial.generator.choice([-1.0, 1.0], inputs.x.shape)
    far = inputs.with_x(signs * _FAR * trial.generator.integers(1, 5, inputs.x.shape))
    return compare(np.maximum(far.x, 0.0), trial.output(far), trial.allowed(far))


@judges("elementwise", space=VectorSpace(least_width=2), operations=_ACTIVATIONS)
def elementwise(trial: Trial[ActivationInputs]) -> Verdict:
    """The last entry gives the same result alone as among the others."""
    alone = trial.inputs.with_x(trial.inputs.x[-1:, -1:, -1:])
    return trial.equal(alone, trial.inputs, of_second=lambda result: result[-1:, -1:, -1:])
