"""Laws of dropout and of its gradient: what holds whatever the mask is, and what chance allows."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
from veriformer.conformance_tests.core.law import judges
from veriformer.conformance_tests.core.trial import Trial
from veriformer.conformance_tests.core.verdict import Verdict, compare, words
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.space import OwnSpace
from veriformer.conformance_tests.operations.dropout.cases import DropoutSpace
from veriformer.conformance_tests.operations.dropout.chance import (
    FALSE_ALARM,
    agreement,
    by_chance,
    likely,
    resolution,
)
from veriformer.conformance_tests.operations.dropout.inputs import DropoutInputs
from veriformer.conformance_tests.operations.every.laws.interface import result_kept

_DROPOUT = ("dropout",)
_BOTH = ("dropout", "dropout_backward")
_MANY = DropoutSpace(many=True)
# At other rates two independent masks agree so often by chance that they cannot be distinguished from a shared one.
_MANY_BALANCED = DropoutSpace(many=True, rates=(0.5, 0.25, 0.6))
_AXES = ("samples", "rows", "columns")


@judges("value", space=DropoutSpace(), operations=_DROPOUT)
@judges("grad_x", space=DropoutSpace(), operations=_BOTH[1:])
def scaled_or_zero(trial: Trial[DropoutInputs]) -> Verdict:
    """Each entry is zero or the entry divided by 1 − p, whichever it was."""
    return _as_drawn(trial, trial.output(trial.inputs))


@judges("memory_layout", space=OwnSpace(), operations=_BOTH)
def strided(trial: Trial[DropoutInputs]) -> Verdict:
    """The same of strided views, whose mask may be another."""
    return _as_drawn(trial, trial.subject.call(trial.inputs, strided=True))


def _as_drawn(trial: Trial[DropoutInputs], output: Array) -> Verdict:
    expected = trial.expected(trial.inputs.as_drawn(output))
    return compare(expected.value, output, expected.allowed)


judges("result_kept", space=DropoutSpace(), operations=_DROPOUT)(result_kept)


@judges("evaluation", space=DropoutSpace(training=(False,)), operations=_BOTH)
@judges("rate.zero", space=DropoutSpace(rates=(0.0,)), operations=_BOTH)
def identity(trial: Trial[DropoutInputs]) -> Verdict:
    """The entries are returned as they are."""
    entries = trial.inputs.entries
    return compare(entries, trial.output(trial.inputs), np.zeros(entries.shape))


@judges("share", space=_MANY, operations=_BOTH, batched=False)
def share(trial: Trial[DropoutInputs]) -> Verdict:
    """The number of zeros is one that chance explains."""
    dropped = _dropped(trial, trial.inputs)
    within = likely(dropped.size, trial.inputs.rate, resolution(trial.inputs.dtype))
    return by_chance(int(dropped.sum()), dropped.size, within, "entries dropped")


@judges("evaluation.training_again", space=_MANY, operations=_DROPOUT, batched=False)
def training_again(trial: Trial[DropoutInputs]) -> Verdict:
    """The same after a call in evaluation."""
    trial.output(replace(trial.inputs, training=False))
    return share(trial)


@judges("mask.neighbours", space=_MANY, operations=_DROPOUT, batched=False)
def neighbours(trial: Trial[DropoutInputs]) -> Verdict:
    """Along each axis, of the pairs of first and second, third and fourth and so on, as many agree as chance explains.

    The three counts share the probability of a false alarm.
    """
    dropped, inputs = _dropped(trial, trial.inputs), trial.inputs
    number = dropped.size // 2
    within = likely(number, *agreement(inputs.rate, resolution(inputs.dtype)), FALSE_ALARM / len(_AXES))
    for axis, name in enumerate(_AXES):
        along = np.moveaxis(dropped, axis, 0)
        count = int((along[0::2] == along[1::2]).sum())
        verdict = by_chance(count, number, within, f"pairs of neighbouring {name} alike")
        if not verdict.holds:
            break
    return verdict


@judges("mask.shared", space=_MANY_BALANCED, operations=_DROPOUT, batched=False)
def nothing_shared(trial: Trial[DropoutInputs]) -> Verdict:
    """Any two samples, rows or columns agree in as many entries as chance explains.

    All pairs share the probability of a false alarm.
    """
    dropped, inputs = _dropped(trial, trial.inputs), trial.inputs
    pairs = sum(length * (length - 1) // 2 for length in dropped.shape)
    for axis, name in enumerate(_AXES):
        slices = np.moveaxis(dropped, axis, 0).reshape(dropped.shape[axis], -1)
        number = slices.shape[1]
        within = likely(number, *agreement(inputs.rate, resolution(inputs.dtype)), FALSE_ALARM / pairs)
        for one, other in combinations(range(len(slices)), 2):
            count = int((slices[one] == slices[other]).sum())
            if not within[0] <= count <= within[1]:
                return by_chance(count, number, within, f"entries of {name} {one} and {other} alike")
    return words("no two alike", "no two alike", holds=True)


@judges("seed.same", space=DropoutSpace(), operations=_BOTH)
def of_seed(trial: Trial[DropoutInputs]) -> Verdict:
    """Other values are dropped in the same places."""
    generator = trial.generator
    first = trial.inputs.without_zeros(generator)
    second = trial.inputs.with_x(3.0 - trial.inputs.x).without_zeros(generator)
    one, other = _dropped(trial, first, replaced=False), _dropped(trial, second, replaced=False)
    return compare(one, other, np.zeros(one.shape), note="1 where an entry was dropped")


@judges("seed.other", space=_MANY_BALANCED, operations=_DROPOUT, batched=False)
def other_seed(trial: Trial[DropoutInputs]) -> Verdict:
    """The masks of two seeds agree in as many entries as chance explains."""
    inputs = trial.inputs
    another = replace(inputs, seed=inputs.seed + int(trial.generator.integers(1, 1000)))
    one, other = _dropped(trial, inputs), _dropped(trial, another)
    within = likely(one.size, *agreement(inputs.rate, resolution(inputs.dtype)))
    return by_chance(int((one == other).sum()), one.size, within, "entries alike")


@judges("multiple", space=DropoutSpace(), operations=_DROPOUT)
def multiple(trial: Trial[DropoutInputs]) -> Verdict:
    """Doubled, halved or negated entries have doubled, halved or negated results, and the same mask."""
    inputs, factor = trial.inputs, float(trial.generator.choice([-1.0, 2.0, -2.0, 0.5]))
    # A power of two, by which every dtype multiplies exactly.
    scaled = inputs.with_entries(factor * inputs.entries)
    allowed = abs(factor) * trial.allowed(inputs) + trial.allowed(scaled)
    return compare(factor * trial.output(inputs), trial.output(scaled), allowed, may_be_nan=False)


def _dropped(trial: Trial[DropoutInputs], inputs: DropoutInputs, *, replaced: bool = True) -> Array:
    """Return which entries a call drops; where they may be zero themselves they are replaced first."""
    called = inputs.without_zeros(trial.generator) if replaced else inputs
    return np.asarray(trial.output(called) == 0.0)
