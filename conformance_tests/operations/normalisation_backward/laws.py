"""Laws of the gradients of layer and RMS normalisation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from veriformer.conformance_tests.core.law import judges
from veriformer.conformance_tests.core.trial import Trial
from veriformer.conformance_tests.core.verdict import Verdict, compare
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.space import EXACT_PALETTES
from veriformer.conformance_tests.drawing.vectors import VectorSpace
from veriformer.conformance_tests.operations.gradients import equal, linear, without_grad_output
from veriformer.conformance_tests.operations.normalisation_backward.inputs import (
    LayerNormBackwardInputs,
    NormBackwardInputs,
    RmsNormBackwardInputs,
)
from veriformer.conformance_tests.operations.parts import agrees, agrees_in, worst
from veriformer.conformance_tests.rounding.precision import UNIT_ROUNDOFF

_LAYER_NORM = ("layer_norm_backward",)
_RMS_NORM = ("rms_norm_backward",)
_NORMS = (*_LAYER_NORM, *_RMS_NORM)
_VARIED = VectorSpace(least_width=2, palettes=("integers", "normal", "offset", "bits"))
_SEVERAL_ROWS = VectorSpace(least_rows=2, least_width=2)
_EXACT = VectorSpace(least_width=2, palettes=EXACT_PALETTES)

for _name in ("grad_x", "grad_gamma"):
    judges(_name, space=_VARIED, operations=_LAYER_NORM)(agrees_in(_name))
    judges(_name, space=VectorSpace(), operations=_RMS_NORM)(agrees_in(_name))
judges("grad_beta", space=VectorSpace(), operations=_LAYER_NORM)(agrees_in("grad_beta"))
judges("grad_output.linear", space=_EXACT, operations=_NORMS)(linear)
judges("grad_output.zero", space=VectorSpace(), operations=_NORMS)(without_grad_output)


@judges("grad_beta.whole_numbers", space=VectorSpace(palettes=EXACT_PALETTES), operations=_LAYER_NORM)
def whole_numbers(trial: Trial[LayerNormBackwardInputs]) -> Verdict:
    """Gradients of small whole numbers are added up without rounding, as far as the dtype counts."""
    inputs = trial.inputs
    part, given = inputs.part("grad_beta"), inputs.grad_output.reshape(-1, inputs.x.shape[-1])
    counted = np.abs(given).sum(axis=0) * UNIT_ROUNDOFF[inputs.dtype] <= 1.0
    allowed = np.where(counted, 0.0, part(trial.allowed(inputs)))
    return compare(given.sum(axis=0), part(trial.output(inputs)), allowed, None, "grad_beta")


@judges("eps", space=_VARIED, operations=_NORMS)
def small_as_eps(trial: Trial[NormBackwardInputs]) -> Verdict:
    """Vectors whose components are as small as √eps, so that eps is half of the sum under the root."""
    inputs = trial.inputs
    return agrees(trial, inputs.with_x(np.sqrt(inputs.eps) * inputs.x))


@judges("unit_gain", space=_VARIED, operations=_NORMS)
def unit_gain(trial: Trial[NormBackwardInputs]) -> Verdict:
    """With a gain of ones the gradients are the formula's."""
    return agrees(trial, _plain(trial), "grad_x")


def _plain(trial: Trial[NormBackwardInputs]) -> NormBackwardInputs:
    """Return inputs with unit gain, stored as the implementation stores it."""
    inputs = trial.inputs
    stored = 1.0 if trial.conventions.get("rms_norm_gain", "gamma") == "gamma" else 0.0
    return replace(inputs, gamma=np.full_like(inputs.gamma, stored))


@judges("rows_sum_to_zero", space=VectorSpace(least_width=2), operations=_LAYER_NORM)
def rows_sum_to_zero(trial: Trial[LayerNormBackwardInputs]) -> Verdict:
    """The gradient of each vector sums to zero."""
    inputs = trial.inputs
    return _summed(trial, inputs, np.ones_like(inputs.x), np.zeros(inputs.x.shape[:-1]))


@judges("along_x", space=_VARIED, operations=_NORMS)
def along_x(trial: Trial[NormBackwardInputs]) -> Verdict:
    """The gradient of each vector along the vector, centred or not, is what eps leaves of it."""
    inputs = trial.inputs
    centred = inputs.centred()
    along = (inputs.scaled(trial.conventions) * centred).sum(axis=-1)
    square = np.square(centred).mean(axis=-1)
    if trial.conventions.get("layer_norm_eps", "inside_root") == "inside_root":
        left = inputs.eps * along / (square + inputs.eps) ** 1.5
    else:
        left = inputs.eps * along / (np.sqrt(square) + inputs.eps) ** 2
    return _summed(trial, inputs, centred, left)


def _summed(trial: Trial[NormBackwardInputs], inputs: NormBackwardInputs, factor: Array, expected: Array) -> Verdict:
    """Judge the sum over the components of each vector of its gradient times a factor."""
    exact, part = trial.expected(inputs), inputs.part("grad_x")
    received = (part(trial.output(inputs)) * factor).sum(axis=-1)
    allowed = (part(exact.allowed) * np.abs(factor)).sum(axis=-1)
    judged = np.logical_and.reduce(part(exact.judged), axis=-1)
    return compare(expected, received, allowed, judged, "grad_x")


@judges("grad_output.equal", space=_VARIED, operations=_LAYER_NORM)
def equal_gradients(trial: Trial[LayerNormBackwardInputs]) -> Verdict:
    """Equal gradients of the components of each vector, with unit gain, leave the vectors without one."""
    plain = _plain(trial)
    given = plain.with_cotangents(grad_output=np.broadcast_to(plain.grad_output[..., :1], plain.x.shape).copy())
    exact, part = trial.expected(given), given.part("grad_x")
    received = part(trial.output(given))
    return compare(np.zeros(received.shape), received, part(exact.allowed), part(exact.judged), "grad_x")


@judges("shift", space=replace(_VARIED, palettes=("integers",)), operations=_LAYER_NORM)
def shift(trial: Trial[LayerNormBackwardInputs]) -> Verdict:
    """Adding one number to a whole vector changes no gradient."""
    inputs = trial.inputs
    added = trial.generator.integers(1, 9, (*inputs.x.shape[:-1], 1)).astype(float)
    return equal(trial, inputs, inputs.with_x(inputs.x + added))


@judges("beta_unused", space=VectorSpace(least_width=2), operations=_LAYER_NORM)
def beta_unused(trial: Trial[LayerNormBackwardInputs]) -> Verdict:
    """Without the shift the gradients are the same."""
    return equal(trial, replace(trial.inputs, beta=np.zeros_like(trial.inputs.beta)), trial.inputs)


@judges("scale", space=VectorSpace(), operations=_RMS_NORM)
def scale(trial: Trial[RmsNormBackwardInputs]) -> Verdict:
    """Vectors scaled by a power of two, and eps by its square: their gradients are divided by it, the gain's stays."""
    inputs = trial.inputs
    factor = float(trial.generator.choice([0.25, 0.5, 2.0, 4.0]))
    scaled = replace(inputs, x=factor * inputs.x, eps=factor**2 * inputs.eps)

    def multiplied(name: str, part: Array) -> Array:
        return part * factor if name == "grad_x" else part

    return equal(trial, inputs, scaled, of_second=multiplied)


@judges("odd", space=VectorSpace(), operations=_RMS_NORM)
def odd(trial: Trial[RmsNormBackwardInputs]) -> Verdict:
    """Negated vectors have the same gradients, and the gain has the negated one."""
    inputs = trial.inputs
    negated = inputs.with_x(-inputs.x)
    exact, outputs = trial.expected(inputs), (trial.output(inputs), trial.output(negated))

    def judge(name: str, sign: float) -> Verdict:
        part = inputs.part(name)
        # The bounds of both are the same.
        return compare(sign * part(outputs[0]), part(outputs[1]), 2.0 * part(exact.allowed), None, name)

    return worst((judge("grad_x", 1.0), judge("grad_gamma", -1.0)))


@judges("permutation", space=VectorSpace(least_width=2), operations=_RMS_NORM)
def permutation(trial: Trial[RmsNormBackwardInputs]) -> Verdict:
    """Components, gain and output gradients in another order give all gradients in that order."""
    inputs = trial.inputs
    order = trial.permutation(inputs.x.shape[-1])
    reordered = replace(inputs.with_rows(lambda array: array[..., order]), gamma=inputs.gamma[order])
    return equal(trial, inputs, reordered, of_first=lambda _, part: part[..., order])


@judges("zero_vector", space=VectorSpace(), operations=_RMS_NORM)
def zero_vector(trial: Trial[RmsNormBackwardInputs]) -> Verdict:
    """One vector of zeros among others."""
    inputs = trial.inputs
    x = inputs.x.copy()
    x[-1, -1] = 0.0
    return agrees(trial, inputs.with_x(x))


@judges("batch.independence", space=_SEVERAL_ROWS, operations=_NORMS)
def rows_alone(trial: Trial[NormBackwardInputs]) -> Verdict:
    """The last vector has the same gradient alone as among the others."""
    inputs = trial.inputs
    alone = inputs.with_rows(lambda array: array[-1:, -1:])
    one, other = trial.expected(alone), trial.expected(inputs)
    of_alone, of_all = alone.part("grad_x"), inputs.part("grad_x")

    def last(array: Array) -> Array:
        return of_all(array)[-1:, -1:]

    return compare(
        of_alone(trial.output(alone)),
        last(trial.output(inputs)),
        of_alone(one.allowed) + last(other.allowed),
        of_alone(one.judged),
        "grad_x",
        may_be_nan=False,
    )


@judges("rows.additive", space=_SEVERAL_ROWS, operations=_NORMS)
def rows_additive(trial: Trial[NormBackwardInputs]) -> Verdict:
    """The gradients of gain and shift over the first vector of each sample and over the rest add up to those of all."""
    inputs = trial.inputs
    first, rest = (inputs.with_rows(lambda array, of=of: array[:, of]) for of in (slice(1), slice(1, None)))
    calls = [(given, trial.output(given), trial.allowed(given)) for given in (first, rest, inputs)]

    def judge(name: str) -> Verdict:
        taken = [(given.part(name)(output), given.part(name)(allowed)) for given, output, allowed in calls]
        (one, one_error), (other, other_error), (together, error) = taken
        return compare(one + other, together, one_error + other_error + error, None, name)

    return worst(judge(name) for name in inputs.parts if name != "grad_x")


@judges("rows.permutation", space=_SEVERAL_ROWS, operations=_NORMS)
def rows_permuted(trial: Trial[NormBackwardInputs]) -> Verdict:
    """Vectors in another order in each sample: their gradients follow, those of gain and shift stay."""
    inputs = trial.inputs
    order = trial.permutation(inputs.x.shape[1])
    reordered = inputs.with_rows(lambda array: array[:, order])

    def moved(name: str, part: Array) -> Any:
        return part[:, order] if name == "grad_x" else part

    return equal(trial, inputs, reordered, of_first=moved)
