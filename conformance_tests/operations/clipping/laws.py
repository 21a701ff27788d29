"""Laws of clipping: the norm of the result, the one factor of all gradients, and what has no influence on it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from veriformer.conformance_tests.core.law import judges
from veriformer.conformance_tests.core.trial import Trial
from veriformer.conformance_tests.core.verdict import Verdict, compare
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.clipping.cases import BEYOND, ClipSpace
from veriformer.conformance_tests.operations.clipping.inputs import ClipInputs
from veriformer.conformance_tests.operations.parts import agrees_in
from veriformer.reference.clipping import NORM_EPS

_CLIP = ("clip_by_global_norm",)
_ANY = ClipSpace()
_BEYOND = ClipSpace(bounds=BEYOND)
_SEVERAL = ClipSpace(least_arrays=2)

judges("value", space=_ANY, operations=_CLIP)(agrees_in())


def _norms(trial: Trial[ClipInputs]) -> tuple[float, float, float]:
    """Return the norm of the result, the exact one, and how far apart the triangle inequality lets them be."""
    expected = trial.expected(trial.inputs)
    return (
        float(np.linalg.norm(trial.output(trial.inputs))),
        float(np.linalg.norm(expected.value)),
        float(np.linalg.norm(expected.allowed)),
    )


@judges("norm", space=_ANY, operations=_CLIP)
def norm(trial: Trial[ClipInputs]) -> Verdict:
    """The norm of the result is the smaller of the gradients' norm and the bound."""
    found, exact, allowed = _norms(trial)
    return compare(np.array(exact), np.array(found), np.array(allowed))


@judges("bounded", space=_BEYOND, operations=_CLIP)
def bounded(trial: Trial[ClipInputs]) -> Verdict:
    """The norm of the result is at most the bound."""
    found, _, allowed = _norms(trial)
    most = trial.inputs.max_norm
    return compare(np.array(min(found, most)), np.array(found), np.array(allowed), may_be_nan=False)


@judges("within", space=ClipSpace(bounds=("within",)), operations=_CLIP)
@judges("zeros", space=ClipSpace(bounds=("zero",)), operations=_CLIP)
def unchanged(trial: Trial[ClipInputs]) -> Verdict:
    """The gradients come back as they were given, unless what is added to their norm leads beyond the bound."""
    inputs, expected = trial.inputs, trial.expected(trial.inputs)
    within = inputs.norm + NORM_EPS[trial.conventions["clip_norm_eps"]] <= inputs.max_norm
    claimed = inputs.joined_gradients if within else expected.value
    return compare(claimed, trial.output(inputs), expected.allowed)


@judges("one_factor", space=_ANY, operations=_CLIP)
def one_factor(trial: Trial[ClipInputs]) -> Verdict:
    """Each result times the largest gradient is the largest one's result times the gradient."""
    given, output, allowed = trial.inputs.joined_gradients, trial.output(trial.inputs), trial.allowed(trial.inputs)
    largest = int(np.abs(given).argmax())
    error = np.abs(given) * allowed[largest] + abs(given[largest]) * allowed
    return compare(output[largest] * given, output * given[largest], error, may_be_nan=False)


@judges("grouping", space=_ANY, operations=_CLIP)
def grouping(trial: Trial[ClipInputs]) -> Verdict:
    """One array of all entries gives the same entries."""
    inputs = trial.inputs
    return trial.equal(inputs, inputs.with_gradients([inputs.joined_gradients]))


@judges("order", space=_SEVERAL, operations=_CLIP)
def order(trial: Trial[ClipInputs]) -> Verdict:
    """Arrays in another order give their results in that order."""
    inputs = trial.inputs
    places = trial.permutation(len(inputs.gradients))
    moved = inputs.with_gradients([inputs.gradients[place] for place in places])

    def in_that_order(joined: Array) -> Array:
        return np.concatenate([inputs.part(f"clipped.{place}")(joined).ravel() for place in places])

    return trial.equal(inputs, moved, of_first=in_that_order)


def _alike_but_for_eps(trial: Trial[ClipInputs], other: ClipInputs, factor: float) -> Verdict:
    """Judge whether the results are `factor` times those of the case, but for what is added to the norm."""
    inputs = trial.inputs
    one, two = trial.expected(inputs), trial.expected(other)
    claimed = factor * trial.output(inputs) + (two.value - factor * one.value)
    return compare(claimed, trial.output(other), abs(factor) * one.allowed + two.allowed, may_be_nan=False)


@judges("scale", space=_BEYOND, operations=_CLIP)
def scale(trial: Trial[ClipInputs]) -> Verdict:
    """Gradients of twice the norm give the same result."""
    return _alike_but_for_eps(trial, trial.inputs.scaled(2.0), 1.0)


@judges("homogeneity", space=_ANY, operations=_CLIP)
def homogeneity(trial: Trial[ClipInputs]) -> Verdict:
    """Gradients and a bound of twice the size give twice the result."""
    inputs = trial.inputs
    return _alike_but_for_eps(trial, replace(inputs.scaled(2.0), max_norm=2.0 * inputs.max_norm), 2.0)


@judges("idempotence", space=_ANY, operations=_CLIP)
def idempotence(trial: Trial[ClipInputs]) -> Verdict:
    """The result, clipped again, stays as it is; rounding, or what is added to the norm, leaves it near the bound."""
    inputs = trial.inputs
    once = trial.output(inputs)
    again = inputs.with_gradients([inputs.part(name)(once) for name in inputs.parts])
    expected = trial.expected(inputs)
    excess = float(np.linalg.norm(expected.allowed)) + NORM_EPS[trial.conventions["clip_norm_eps"]]
    allowed = trial.allowed(again) + np.abs(once) * excess / inputs.max_norm
    return compare(once, trial.output(again), allowed, may_be_nan=False)


@judges("oddness", space=_ANY, operations=_CLIP)
def oddness(trial: Trial[ClipInputs]) -> Verdict:
    """The negated gradients have the negated results."""
    return _alike_but_for_eps(trial, trial.inputs.scaled(-1.0), -1.0)
