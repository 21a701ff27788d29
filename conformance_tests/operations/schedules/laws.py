"""Laws of schedules: the straight rise, where it meets the decay, and how the decay goes on and ends."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from veriformer.conformance_tests.core.law import judges
from veriformer.conformance_tests.core.trial import Trial
from veriformer.conformance_tests.core.verdict import Verdict, compare
from veriformer.conformance_tests.operations.parts import agrees_in
from veriformer.conformance_tests.operations.schedules.cases import AFTER_WARMUP, CosineSpace, RootSpace
from veriformer.conformance_tests.operations.schedules.inputs import CosineInputs, RootInputs, ScheduleInputs

_COSINE = ("warmup_cosine_learning_rate",)
_ROOT = ("warmup_inverse_root_learning_rate",)
_FALLING = RootSpace(stages=("decay", "top"))

judges("value", space=CosineSpace(), operations=_COSINE)(agrees_in())
judges("value", space=RootSpace(), operations=_ROOT)(agrees_in())


def _at(inputs: ScheduleInputs, **changed: Any) -> Any:
    """Return the inputs of another step, or of another schedule."""
    return replace(inputs, **changed)


def _claimed(trial: Trial[Any], claimed: float, inputs: ScheduleInputs) -> Verdict:
    """Judge whether the rate is a number that follows without the formula."""
    return compare(np.array(claimed), trial.output(inputs), trial.allowed(inputs))


def _at_most(trial: Trial[Any], rate: ScheduleInputs, largest: ScheduleInputs) -> Verdict:
    """Judge whether one rate is at most another."""
    found, most = trial.output(rate), trial.output(largest)
    return compare(np.minimum(found, most), found, trial.allowed(rate, largest), may_be_nan=False)


@judges("warmup.straight", space=CosineSpace(stages=("warmup",), least_warmup_steps=2), operations=_COSINE)
def straight_to_the_cosine(trial: Trial[CosineInputs]) -> Verdict:
    """The rise up to a step is its share of the rise up to the cosine's first step."""
    inputs = trial.inputs
    first, last = _at(inputs, step=0), _at(inputs, step=inputs.warmup_steps)
    share = inputs.step / inputs.warmup_steps
    start, rate, top = (trial.output(one) for one in (first, inputs, last))
    allowed = trial.allowed(inputs) + (1.0 - share) * trial.allowed(first) + share * trial.allowed(last)
    return compare(start + share * (top - start), rate, allowed, may_be_nan=False)


@judges("peak", space=CosineSpace(stages=("top",)), operations=_COSINE)
def begins_at_the_peak(trial: Trial[CosineInputs]) -> Verdict:
    """The rate at the end of the warm-up is the peak."""
    return _claimed(trial, trial.inputs.peak, trial.inputs)


@judges("bounded", space=CosineSpace(), operations=_COSINE)
def never_above_the_peak(trial: Trial[CosineInputs]) -> Verdict:
    """The rate of the step, and those of the steps before and after it, are at most the peak."""
    inputs = trial.inputs
    steps = [_at(inputs, step=step) for step in (max(inputs.step - 1, 0), inputs.step, inputs.step + 1)]
    found = np.stack([trial.output(one) for one in steps])
    return compare(np.minimum(found, inputs.peak), found, np.stack([trial.allowed(one) for one in steps]))


@judges("least", space=CosineSpace(stages=("end", "beyond")), operations=_COSINE)
def stays_at_the_least(trial: Trial[CosineInputs]) -> Verdict:
    """The rate is the least one."""
    return _claimed(trial, trial.inputs.least, trial.inputs)


@judges("falling", space=CosineSpace(stages=AFTER_WARMUP), operations=_COSINE)
def never_rises(trial: Trial[CosineInputs]) -> Verdict:
    """The rate of the next step is at most that of this one."""
    return _at_most(trial, _at(trial.inputs, step=trial.inputs.step + 1), trial.inputs)


@judges("symmetry", space=CosineSpace(stages=("decay", "top", "end")), operations=_COSINE)
def symmetric(trial: Trial[CosineInputs]) -> Verdict:
    """The rate and that of the step opposite sum to the peak and the least rate."""
    inputs = trial.inputs
    opposite = _at(inputs, step=inputs.total_steps - (inputs.step - inputs.warmup_steps))
    total = trial.output(inputs) + trial.output(opposite)
    return compare(np.array(inputs.peak + inputs.least), total, trial.allowed(inputs, opposite))


@judges("linearity", space=CosineSpace(), operations=_COSINE)
def linear_in_the_rates(trial: Trial[CosineInputs]) -> Verdict:
    """The rates of two schedules sum to that of the summed peaks and least rates."""
    inputs = trial.inputs
    other = _at(inputs, peak=2.0 * inputs.peak, least=1.5 * inputs.peak)
    both = _at(inputs, peak=inputs.peak + other.peak, least=inputs.least + other.least)
    total = trial.output(inputs) + trial.output(other)
    return compare(total, trial.output(both), trial.allowed(inputs, other, both), may_be_nan=False)


@judges("decay.after_warmup", space=CosineSpace(stages=AFTER_WARMUP, least_warmup_steps=1), operations=_COSINE)
def like_a_run_without_warmup(trial: Trial[CosineInputs]) -> Verdict:
    """A run without the warm-up has the same rate as many steps after its start."""
    inputs = trial.inputs
    warmup = inputs.warmup_steps
    without = _at(inputs, step=inputs.step - warmup, warmup_steps=0, total_steps=inputs.total_steps - warmup)
    return trial.equal(inputs, without)


@judges("warmup.straight", space=RootSpace(stages=("warmup",)), operations=_ROOT)
def straight_to_the_root(trial: Trial[RootInputs]) -> Verdict:
    """The rate of a step of the warm-up is its share of that at the end."""
    inputs = trial.inputs
    last = _at(inputs, step=inputs.warmup_steps)
    share = inputs.step / inputs.warmup_steps
    allowed = trial.allowed(inputs) + share * trial.allowed(last)
    return compare(share * trial.output(last), trial.output(inputs), allowed, may_be_nan=False)


@judges("peak", space=RootSpace(), operations=_ROOT)
def largest_at_the_end_of_the_warmup(trial: Trial[RootInputs]) -> Verdict:
    """The rate at the end of the warm-up is that of width and steps alone, and no rate is above it."""
    inputs = trial.inputs
    top = _at(inputs, step=inputs.warmup_steps)
    verdict = _claimed(trial, (inputs.d_model * inputs.warmup_steps) ** -0.5, top)
    return _at_most(trial, inputs, top) if verdict.holds else verdict


@judges("decay.root", space=_FALLING, operations=_ROOT)
def falls_as_the_root(trial: Trial[RootInputs]) -> Verdict:
    """Four times the step has half the rate."""
    return _halved(trial, _at(trial.inputs, step=4 * trial.inputs.step))


@judges("width", space=RootSpace(), operations=_ROOT)
def falls_with_the_width(trial: Trial[RootInputs]) -> Verdict:
    """Four times the width has half the rate."""
    return _halved(trial, _at(trial.inputs, d_model=4 * trial.inputs.d_model))


def _halved(trial: Trial[RootInputs], other: RootInputs) -> Verdict:
    """Judge whether another rate is half that of the case."""
    inputs = trial.inputs
    allowed = 0.5 * trial.allowed(inputs) + trial.allowed(other)
    return compare(0.5 * trial.output(inputs), trial.output(other), allowed, may_be_nan=False)


@judges("decay.without_warmup", space=_FALLING, operations=_ROOT)
def like_a_root_without_warmup(trial: Trial[RootInputs]) -> Verdict:
    """A warm-up of one step has the same rate after it."""
    return trial.equal(trial.inputs, _at(trial.inputs, warmup_steps=1))
