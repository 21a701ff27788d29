"""Merging: two parts of an attention make the whole, for any division."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np
from veriformer.conformance_tests.core.expected import Expected
from veriformer.conformance_tests.core.law import judges
from veriformer.conformance_tests.core.trial import Trial
from veriformer.conformance_tests.core.verdict import Verdict, compare
from veriformer.conformance_tests.drawing.arrays import Array, present
from veriformer.conformance_tests.drawing.space import EXACT_PALETTES
from veriformer.conformance_tests.drawing.values import round_to_dtype
from veriformer.conformance_tests.operations.merging.cases import MergeSpace
from veriformer.conformance_tests.operations.merging.inputs import MergeInputs, Part

AnyMerge = TypeVar("AnyMerge", bound=MergeInputs)


@judges("value", space=MergeSpace())
@judges("large_logarithms", space=MergeSpace(amplitudes=(10, 30), palettes=("integers", "normal", "offset")))
@judges("empty_part", space=MergeSpace(empty="one"))
def agrees_with_formula(trial: Trial[MergeInputs]) -> Verdict:
    """The result is the formula's."""
    return trial.agrees()


@judges("both_empty", space=MergeSpace(empty="both"))
def both_empty(trial: Trial[MergeInputs]) -> Verdict:
    """Rows with both parts empty have the output 0 and the logarithm −∞."""
    inputs = trial.inputs
    empty = np.isneginf(inputs.lse_a) & np.isneginf(inputs.lse_b)
    output = np.broadcast_to(empty[..., None], inputs.output_a.shape)
    judged = np.concatenate([output.ravel(), empty.ravel()])
    nothing = np.where(np.arange(judged.size) < output.size, 0.0, -np.inf)
    return compare(nothing, trial.output(inputs), np.zeros(judged.shape), judged)


@judges("union", space=MergeSpace())
def union(trial: Trial[MergeInputs]) -> Verdict:
    """The parts of an attention, computed apart, merge to the attention over all its keys."""
    inputs = trial.inputs
    whole = _joined(inputs, present(inputs.divided).over(slice(None)))
    return compare(whole, trial.output(inputs), trial.allowed(inputs) + _rounded(inputs, whole))


@judges("any_split", space=MergeSpace(least_keys=3))
def any_split(trial: Trial[MergeInputs]) -> Verdict:
    """Divided after the first key or before the last, the parts merge to the same."""
    inputs = trial.inputs
    divided = present(inputs.divided)
    whole = _joined(inputs, divided.over(slice(None)))
    early, late = (MergeInputs.split(divided, cut, inputs.dtype) for cut in (1, divided.value.shape[2] - 1))
    allowed = sum(trial.allowed(given) + _rounded(given, whole) for given in (early, late))
    return compare(trial.output(early), trial.output(late), np.asarray(allowed))


def _joined(inputs: MergeInputs, part: Part) -> Array:
    return np.concatenate([array.ravel() for array in part])


def _rounded(inputs: MergeInputs, whole: Array) -> Array:
    """Return how far rounding the parts to the dtype moves the exact result, which is no fault of the merging."""
    return np.asarray(np.abs(_joined(inputs, inputs.exact()) - whole))


@judges("commutative", space=MergeSpace())
def commutative(trial: Trial[MergeInputs]) -> Verdict:
    """The parts in the other order merge to the same."""
    return trial.equal(trial.inputs, trial.inputs.swapped())


@judges("associative", space=MergeSpace(least_keys=3))
def associative(trial: Trial[MergeInputs]) -> Verdict:
    """Of three parts the first two may come first, or the last two."""
    inputs = trial.inputs
    divided = present(inputs.divided)
    bounds = (slice(1), slice(1, -1), slice(-1, None))
    first, second, third = ((_held(o, inputs), _held(s, inputs)) for o, s in map(divided.over, bounds))
    left = _merged(trial, first, second)
    right = _merged(trial, second, third)
    before, after = _of(inputs, left[0], third), _of(inputs, first, right[0])
    allowed = trial.allowed(before, after) + _inherited(before, left) + _inherited(after, right)
    return compare(trial.output(before), trial.output(after), allowed, may_be_nan=False)


def _held(array: Array, inputs: MergeInputs) -> Array:
    return round_to_dtype(array, inputs.dtype)


def _of(inputs: MergeInputs, first: Part, second: Part) -> MergeInputs:
    return MergeInputs(inputs.dtype, *first, *second)


def _merged(trial: Trial[MergeInputs], first: Part, second: Part) -> tuple[Part, Part]:
    """Return the implementation's merging of two parts, and its error bound."""
    inputs = _of(trial.inputs, first, second)
    result, allowed = trial.output(inputs), trial.allowed(inputs)
    return tuple((inputs.part("output")(array), inputs.part("lse")(array)) for array in (result, allowed))  # type: ignore[return-value]


def _inherited(inputs: MergeInputs, merged: tuple[Part, Part]) -> Array:
    """Return how far the errors of a part that was merged before move the result.

    The output moves by the part's own error at most, and by no more than (e^(2δ) − 1) of the distance between the
    parts when a logarithm is wrong by δ; the logarithm by δ.
    """
    output_error, lse_error = merged[1]
    apart = np.abs(inputs.output_a - inputs.output_b)
    output = output_error + np.expm1(2.0 * lse_error)[..., None] * apart
    return _joined(inputs, (output, lse_error))


@judges("natural_logarithm", space=MergeSpace())
def natural_logarithm(trial: Trial[MergeInputs]) -> Verdict:
    """A part merged with itself has ln 2 more in its logarithm and the same output."""
    inputs = trial.inputs
    twice = replace(inputs, output_b=inputs.output_a, lse_b=inputs.lse_a)
    expected: Expected = trial.expected(twice)
    doubled = _joined(inputs, (inputs.output_a, inputs.lse_a + np.log(2.0)))
    return compare(doubled, trial.output(twice), expected.allowed)


@judges("shift", space=MergeSpace(palettes=EXACT_PALETTES), operations=("merge_attention",))
def shift(trial: Trial[MergeInputs]) -> Verdict:
    """Both logarithms moved by the same number move the result's by it, and no output."""
    inputs = trial.inputs
    moved = float(trial.generator.integers(1, 5))
    here, there = moved_logarithms(inputs, moved)
    by = _joined(inputs, (np.zeros(inputs.output_a.shape), np.full(inputs.lse_a.shape, moved)))
    return compare(trial.output(here) + by, trial.output(there), trial.allowed(here, there), may_be_nan=False)


def moved_logarithms(inputs: AnyMerge, by: float) -> tuple[AnyMerge, AnyMerge]:
    """Return inputs whose logarithms every dtype holds, multiples of 1/8, and the same with both moved by a number."""
    lse_a, lse_b = (np.rint(8.0 * np.clip(lse, -8.0, 8.0)) / 8.0 for lse in (inputs.lse_a, inputs.lse_b))
    return replace(inputs, lse_a=lse_a, lse_b=lse_b), replace(inputs, lse_a=lse_a + by, lse_b=lse_b + by)


@judges("convex", space=MergeSpace())
def convex(trial: Trial[MergeInputs]) -> Verdict:
    """Every component of the output lies between those of the parts."""
    inputs = trial.inputs
    select = inputs.part("output")
    output, allowed = select(trial.output(inputs)), select(trial.allowed(inputs))
    parts = (inputs.output_a, inputs.output_b)
    return compare(np.clip(output, np.minimum(*parts), np.maximum(*parts)), output, allowed, may_be_nan=False)
