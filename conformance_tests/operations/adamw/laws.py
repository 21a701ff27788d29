"""Laws of a step of AdamW: what moves the parameter, what makes it decay, and what has no influence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from veriformer.conformance_tests.core.law import judges
from veriformer.conformance_tests.core.trial import Trial
from veriformer.conformance_tests.core.verdict import Verdict, compare
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.values import round_to_dtype
from veriformer.conformance_tests.operations.adamw.cases import FIRST, LATER, StepSpace
from veriformer.conformance_tests.operations.adamw.inputs import ARRAYS, StepInputs
from veriformer.conformance_tests.operations.parts import agrees_in

_STEP = ("adamw_step",)
_ANY = StepSpace()
_DECAYING = StepSpace(weight_decays=(0.1, 0.5, 0.25), learning_rates=(0.5, 0.1, 0.25))


judges("value", space=_ANY, operations=_STEP)(agrees_in("parameter"))
for _moment in ("first_moment", "second_moment"):
    judges(_moment, space=_ANY, operations=_STEP)(agrees_in(_moment))


def _constant(inputs: StepInputs) -> StepInputs:
    """Return a step without decay whose moments are those of t − 1 gradients that equalled this one."""
    first = (1.0 - inputs.beta1 ** (inputs.step - 1)) * inputs.gradient
    second = (1.0 - inputs.beta2 ** (inputs.step - 1)) * inputs.gradient**2
    moments = (round_to_dtype(moment, inputs.dtype) for moment in (first, second))
    changed = dict(zip(ARRAYS[2:], moments, strict=True))
    return replace(inputs, weight_decay=0.0).with_arrays(**changed)


@judges("first_step", space=StepSpace(steps=FIRST), operations=_STEP)
@judges("constant_gradient", space=StepSpace(steps=LATER), operations=_STEP)
def equal_gradients(trial: Trial[StepInputs]) -> Verdict:
    """The step is η g/(|g| + ε), up to the rounding of the moments of the earlier gradients."""
    inputs = _constant(trial.inputs)
    of_parameter = inputs.part("parameter")
    slope = inputs.gradient
    claimed = inputs.parameter - inputs.learning_rate * slope / (
        np.abs(slope) + inputs.corrected_eps(trial.conventions)
    )
    expected = trial.expected(inputs)
    allowed = of_parameter(expected.allowed) + np.abs(of_parameter(expected.value) - claimed)
    return compare(claimed, of_parameter(trial.output(inputs)), allowed)


@judges("decay.alone", space=_DECAYING, operations=_STEP)
def decay_alone(trial: Trial[StepInputs]) -> Verdict:
    """With zero gradient and moments the parameter shrinks by the decay's share, and the moments stay zero."""
    nothing = dict.fromkeys(ARRAYS[1:], np.zeros(trial.inputs.parameter.shape))
    inputs = trial.inputs.with_arrays(**nothing)
    still = np.zeros(2 * inputs.parameter.size)
    shrunk = np.concatenate([(inputs.kept(trial.conventions) * inputs.parameter).ravel(), still])
    return compare(shrunk, trial.output(inputs), trial.allowed(inputs))


@judges("decay.apart", space=_DECAYING, operations=_STEP)
def decay_apart(trial: Trial[StepInputs]) -> Verdict:
    """With and without decay the parameters differ by the decay's share of the old one."""
    inputs = trial.inputs
    without = replace(inputs, weight_decay=0.0)
    of_parameter = inputs.part("parameter")
    lost = of_parameter(trial.output(inputs)) - of_parameter(trial.output(without))
    share = inputs.kept(trial.conventions) - 1.0
    return compare(share * inputs.parameter, lost, of_parameter(trial.allowed(inputs, without)), may_be_nan=False)


@judges("decay.not_in_moments", space=_DECAYING, operations=_STEP)
def moments_without_decay(trial: Trial[StepInputs]) -> Verdict:
    """Another parameter without decay has the same moments."""
    inputs = trial.inputs
    moved = trial.generator.integers(1, 9, inputs.parameter.shape).astype(float)
    other = replace(inputs, weight_decay=0.0).with_arrays(parameter=moved)

    def moments(joined: Array) -> Array:
        return joined[inputs.parameter.size :]

    return trial.equal(inputs, other, of_first=moments, of_second=moments)


@judges("scale", space=StepSpace(eps=(1e-3, 1e-1, 1e-6)), operations=_STEP)
def scale(trial: Trial[StepInputs]) -> Verdict:
    """Gradients, moments and eps of twice the scale give the same parameter."""
    inputs = trial.inputs
    # Powers of two, by which every dtype multiplies exactly.
    larger = replace(inputs, eps=2.0 * inputs.eps).with_arrays(
        gradient=2.0 * inputs.gradient,
        first_moment=2.0 * inputs.first_moment,
        second_moment=4.0 * inputs.second_moment,
    )
    of_parameter = inputs.part("parameter")
    return trial.equal(inputs, larger, of_first=of_parameter, of_second=of_parameter)


@judges("oddness", space=_ANY, operations=_STEP)
def oddness(trial: Trial[StepInputs]) -> Verdict:
    """The negated step has the negated parameter and first moment, and the same second moment."""
    inputs = trial.inputs
    negated = {name: -getattr(inputs, name) for name in ARRAYS[:3]}
    signs = np.repeat([-1.0, -1.0, 1.0], inputs.parameter.size)
    mirrored = inputs.with_arrays(**negated)
    allowed = trial.allowed(inputs, mirrored)
    return compare(signs * trial.output(inputs), trial.output(mirrored), allowed, may_be_nan=False)


@judges("entries.independence", space=_ANY, operations=_STEP)
def independence(trial: Trial[StepInputs]) -> Verdict:
    """Where an entry keeps its own four numbers its results stay, whatever the others become."""
    inputs = trial.inputs
    shape = inputs.parameter.shape
    kept = trial.generator.random(shape) < 0.5
    kept.reshape(-1)[:1] = True
    others = {
        name: np.where(
            kept, getattr(inputs, name), np.abs(getattr(inputs, name)) + trial.generator.integers(1, 9, shape)
        )
        for name in ARRAYS
    }
    held = {name: round_to_dtype(array, inputs.dtype) for name, array in others.items()}
    places = np.tile(kept.ravel(), len(inputs.parts))
    return trial.equal(
        inputs,
        inputs.with_arrays(**held),
        of_first=lambda joined: joined[places],
        of_second=lambda joined: joined[places],
    )
