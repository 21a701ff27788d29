"""Laws of softmax."""

from __future__ import annotations

import numpy as np
from veriformer.conformance_tests.core.law import judges
from veriformer.conformance_tests.core.trial import Trial
from veriformer.conformance_tests.core.verdict import Verdict, compare
from veriformer.conformance_tests.drawing.space import EXACT_PALETTES
from veriformer.conformance_tests.drawing.vectors import VectorSpace
from veriformer.conformance_tests.operations.softmax.inputs import SoftmaxInputs

_SOFTMAX = ("softmax",)


@judges("value", space=VectorSpace(), operations=_SOFTMAX)
@judges(
    "large_logits",
    space=VectorSpace(amplitudes=(100,), palettes=("integers", "normal")),
    operations=_SOFTMAX,
)
def agrees_with_formula(trial: Trial[SoftmaxInputs]) -> Verdict:
    """The result is the formula's."""
    return trial.agrees()


@judges("nonnegative", space=VectorSpace(), operations=_SOFTMAX)
def nonnegative(trial: Trial[SoftmaxInputs]) -> Verdict:
    """No weight is negative."""
    output = trial.output(trial.inputs)
    return compare(np.maximum(output, 0.0), output, np.zeros(output.shape), may_be_nan=False)


@judges("rows_sum_to_one", space=VectorSpace(), operations=_SOFTMAX)
def rows_sum_to_one(trial: Trial[SoftmaxInputs]) -> Verdict:
    """The weights of each row sum to one."""
    sums = trial.output(trial.inputs).sum(axis=-1)
    allowed = trial.allowed(trial.inputs).sum(axis=-1)
    return compare(np.ones(sums.shape), sums, allowed)


@judges("shift", space=VectorSpace(palettes=EXACT_PALETTES, least_width=2), operations=_SOFTMAX)
def shift(trial: Trial[SoftmaxInputs]) -> Verdict:
    """Adding one number to a whole row changes nothing."""
    x = trial.inputs.x
    added = trial.generator.integers(1, 9, (*x.shape[:-1], 1)).astype(float)
    return trial.equal(trial.inputs, trial.inputs.with_x(x + added))


@judges("permutation", space=VectorSpace(least_width=2))
def permutation(trial: Trial[SoftmaxInputs]) -> Verdict:
    """A row in another order gives weights in that order."""
    order = trial.permutation(trial.inputs.x.shape[-1])
    reordered = trial.inputs.with_x(trial.inputs.x[..., order])
    return trial.equal(trial.inputs, reordered, of_first=lambda result: result[..., order])


@judges("minus_infinity", space=VectorSpace(least_width=2))
def minus_infinity(trial: Trial[SoftmaxInputs]) -> Verdict:
    """An entry of −∞ has no weight, and the others share all of it."""
    x = trial.inputs.x.copy()
    hidden = int(trial.generator.integers(x.shape[-1]))
    x[..., hidden] = -np.inf
    return trial.agrees(trial.inputs.with_x(x))


@judges("batch.independence", space=VectorSpace(least_rows=2, least_width=2), operations=_SOFTMAX)
def rows_alone(trial: Trial[SoftmaxInputs]) -> Verdict:
    """The last row gives the same result alone as in its batch."""
    alone = trial.inputs.with_x(trial.inputs.x[-1:, -1:])
    return trial.equal(alone, trial.inputs, of_second=lambda result: result[-1:, -1:])
