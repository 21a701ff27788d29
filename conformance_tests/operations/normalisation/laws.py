"""Laws of layer and RMS normalisation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from veriformer.conformance_tests.core.law import judges
from veriformer.conformance_tests.core.trial import Trial
from veriformer.conformance_tests.core.verdict import Verdict, compare
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.space import EXACT_PALETTES
from veriformer.conformance_tests.drawing.vectors import VectorSpace
from veriformer.conformance_tests.operations.normalisation.inputs import LayerNormInputs, RmsNormInputs
from veriformer.conformance_tests.rounding.precision import UNIT_ROUNDOFF

_LAYER_NORM = ("layer_norm",)
_RMS_NORM = ("rms_norm",)
_NORMS = (*_LAYER_NORM, *_RMS_NORM)
_VARIED = VectorSpace(least_width=2, palettes=("integers", "normal", "offset", "bits"))
_REFLECTED = 4


@judges("value", space=VectorSpace(), operations=_RMS_NORM)
@judges("value", space=_VARIED, operations=_LAYER_NORM)
def agrees_with_formula(trial: Trial[LayerNormInputs | RmsNormInputs]) -> Verdict:
    """The result is the formula's."""
    return trial.agrees()


@judges("eps", space=_VARIED, operations=_NORMS)
def small_as_eps(trial: Trial[LayerNormInputs | RmsNormInputs]) -> Verdict:
    """Vectors whose components are as small as √eps, so that eps is half of the sum under the root."""
    inputs = trial.inputs
    return trial.agrees(inputs.with_x(np.sqrt(inputs.eps) * inputs.x))


@judges("unit_variance", space=_VARIED, operations=_LAYER_NORM)
def unit_variance(trial: Trial[LayerNormInputs]) -> Verdict:
    """With unit gain and no shift the variance is v / (v + eps)."""
    plain: LayerNormInputs = trial.inputs.plain()
    return _mean_square(trial, plain, plain.x.var(axis=-1))


@judges("unit_mean_square", space=VectorSpace(), operations=_RMS_NORM)
def unit_mean_square(trial: Trial[RmsNormInputs]) -> Verdict:
    """With unit gain the mean square is v / (v + eps)."""
    plain: RmsNormInputs = trial.inputs.plain(trial.conventions)
    return _mean_square(trial, plain, np.square(plain.x).mean(axis=-1))


def _mean_square(
    trial: Trial[LayerNormInputs | RmsNormInputs], inputs: LayerNormInputs | RmsNormInputs, before: Array
) -> Verdict:
    """Compare the mean square with v / (v + eps); an error δ of an entry y changes its square by 2yδ + δ²."""
    expected = trial.expected(inputs)
    allowed = 2.0 * np.abs(expected.value) * expected.allowed + expected.allowed**2
    squares = np.square(trial.output(inputs)).mean(axis=-1)
    return compare(before / (before + inputs.eps), squares, allowed.mean(axis=-1))


@judges(
    "large_mean",
    space=VectorSpace(least_width=2, palettes=("integers", "bits"), amplitudes=(1,)),
    operations=_LAYER_NORM,
)
def large_mean(trial: Trial[LayerNormInputs]) -> Verdict:
    """Adding one number, whose square plus one the dtype cannot hold, to all components changes nothing."""
    inputs = trial.inputs
    digits = -np.log2(UNIT_ROUNDOFF[inputs.dtype])
    return trial.equal(inputs, inputs.with_x(inputs.x + 2.0 ** (digits // 2 + 1)))


@judges("scale", space=VectorSpace(), operations=_RMS_NORM)
def scale(trial: Trial[RmsNormInputs]) -> Verdict:
    """A vector scaled by a power of two, and eps by its square, give the same."""
    inputs = trial.inputs
    factor = float(trial.generator.choice([0.25, 0.5, 2.0, 4.0]))
    scaled = replace(inputs, x=factor * inputs.x, eps=factor**2 * inputs.eps)
    return trial.equal(inputs, scaled)


@judges("odd", space=VectorSpace(), operations=_RMS_NORM)
def odd(trial: Trial[RmsNormInputs]) -> Verdict:
    """The negated vector gives the negated result."""
    inputs = trial.inputs
    one, other = inputs, inputs.with_x(-inputs.x)
    return compare(-trial.output(one), trial.output(other), trial.allowed(one, other))


@judges("permutation", space=VectorSpace(least_width=2), operations=_RMS_NORM)
def permutation(trial: Trial[RmsNormInputs]) -> Verdict:
    """Components and gain in another order give the result in that order."""
    inputs = trial.inputs
    order = trial.permutation(inputs.x.shape[-1])
    reordered = replace(inputs, x=inputs.x[..., order], gamma=inputs.gamma[order])
    return trial.equal(inputs, reordered, of_first=lambda result: result[..., order])


@judges("reflection", space=VectorSpace(least_width=_REFLECTED, palettes=EXACT_PALETTES), operations=_RMS_NORM)
def reflection(trial: Trial[RmsNormInputs]) -> Verdict:
    """The reflection along (1, 1, 1, −1) in four components, whose entries ±1/2 every dtype holds.

    Along (1, 1, 1, 1) it would commute with removing the mean, and not reveal centring.
    """
    plain: RmsNormInputs = trial.inputs.plain(trial.conventions)
    matrix = np.eye(plain.x.shape[-1])
    along = np.array([1.0, 1.0, 1.0, -1.0])
    matrix[:_REFLECTED, :_REFLECTED] -= np.outer(along, along) / 2.0
    reflected = plain.with_x(plain.x @ matrix)
    allowed = trial.allowed(plain) @ np.abs(matrix) + trial.allowed(reflected)
    return compare(trial.output(plain) @ matrix, trial.output(reflected), allowed)


@judges("constant_vector", space=VectorSpace(), operations=_RMS_NORM)
def constant_vector(trial: Trial[RmsNormInputs]) -> Verdict:
    """Vectors of equal components, not zero."""
    inputs = trial.inputs
    first = inputs.x[..., :1]
    equal = np.broadcast_to(np.where(first == 0.0, 1.0, first), inputs.x.shape)
    return trial.agrees(inputs.with_x(equal.copy()))


@judges("zero_vector", space=VectorSpace(), operations=_RMS_NORM)
def zero_vector(trial: Trial[RmsNormInputs]) -> Verdict:
    """One vector of zeros among others gives zeros."""
    inputs = trial.inputs
    x = inputs.x.copy()
    x[-1, -1] = 0.0
    return trial.agrees(inputs.with_x(x))


@judges("gain", space=VectorSpace(), operations=_RMS_NORM)
def gain(trial: Trial[RmsNormInputs]) -> Verdict:
    """The gain applied afterwards gives the same result."""
    inputs = trial.inputs
    plain, factor = inputs.plain(trial.conventions), inputs.gain(trial.conventions)
    allowed = trial.allowed(plain) * np.abs(factor) + trial.allowed(inputs)
    return compare(trial.output(plain) * factor, trial.output(inputs), allowed)


@judges("batch.independence", space=VectorSpace(least_rows=2), operations=_RMS_NORM)
@judges("batch.independence", space=VectorSpace(least_rows=2, least_width=2), operations=_LAYER_NORM)
def rows_alone(trial: Trial[LayerNormInputs | RmsNormInputs]) -> Verdict:
    """The last vector gives the same result alone as among the others."""
    alone = trial.inputs.with_x(trial.inputs.x[-1:, -1:])
    return trial.equal(alone, trial.inputs, of_second=lambda result: result[-1:, -1:])


@judges("shift", space=replace(_VARIED, palettes=("integers",)), operations=_LAYER_NORM)
def shift(trial: Trial[LayerNormInputs]) -> Verdict:
    """Adding one number to a whole vector changes nothing."""
    x = trial.inputs.x
    added = trial.generator.integers(1, 9, (*x.shape[:-1], 1)).astype(float)
    return trial.equal(trial.inputs, trial.inputs.with_x(x + added))


@judges("zero_mean", space=_VARIED, operations=_LAYER_NORM)
def zero_mean(trial: Trial[LayerNormInputs]) -> Verdict:
    """With unit gain and no shift the components sum to zero."""
    plain: LayerNormInputs = trial.inputs.plain()
    sums = trial.output(plain).sum(axis=-1)
    return compare(np.zeros(sums.shape), sums, trial.allowed(plain).sum(axis=-1))


@judges("gain_and_shift", space=_VARIED, operations=_LAYER_NORM)
def gain_and_shift(trial: Trial[LayerNormInputs]) -> Verdict:
    """Gain and shift applied afterwards give the same."""
    inputs = trial.inputs
    plain = inputs.plain()
    one, other = trial.expected(plain), trial.expected(inputs)
    expected = trial.output(plain) * inputs.gamma + inputs.beta
    return compare(expected, trial.output(inputs), one.allowed * np.abs(inputs.gamma) + other.allowed)
