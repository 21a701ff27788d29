"""Cross entropy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from veriformer.conformance_tests.core.law import judges
from veriformer.conformance_tests.core.trial import Trial
from veriformer.conformance_tests.core.verdict import Verdict, compare
from veriformer.conformance_tests.drawing.space import EXACT_PALETTES
from veriformer.conformance_tests.operations.loss.cases import LossSpace
from veriformer.conformance_tests.operations.loss.inputs import CrossEntropyInputs
from veriformer.conformance_tests.operations.next_token.inputs import NextTokenInputs

# Of targets, or of tokens that are targets of those before them.
Losses = CrossEntropyInputs | NextTokenInputs

_LOSS = ("cross_entropy",)
_OPTIONS = LossSpace(ignore="sometimes", smoothing="sometimes")


@judges("value", space=LossSpace(), operations=_LOSS)
@judges(
    "large_logits",
    space=LossSpace(amplitudes=(100,), palettes=("integers", "normal"), least_classes=2),
    operations=_LOSS,
)
@judges("ignore.value", space=LossSpace(ignore="always", least_classes=2), operations=_LOSS)
@judges("smoothing.ignored", space=LossSpace(ignore="always", smoothing="always", least_classes=2), operations=_LOSS)
@judges("reduction.sum", space=replace(_OPTIONS, reductions=("sum",), least_classes=2), operations=_LOSS)
@judges(
    "reduction.none", space=LossSpace(smoothing="sometimes", reductions=("none",), least_classes=2), operations=_LOSS
)
@judges(
    "reduction.none.ignored",
    space=LossSpace(ignore="always", smoothing="sometimes", reductions=("none",), least_classes=2),
    operations=_LOSS,
)
def agrees_with_formula(trial: Trial[CrossEntropyInputs]) -> Verdict:
    """The loss, or each loss, is the formula's."""
    return trial.agrees()


@judges("reduction.mean", space=replace(_OPTIONS, reductions=("mean",), least_classes=2), operations=_LOSS)
def mean_is_the_default(trial: Trial[CrossEntropyInputs]) -> Verdict:
    """The reduction "mean" gives the default loss."""
    inputs = trial.inputs
    return trial.equal(replace(inputs, reduction=None), inputs)


@judges("shift", space=replace(_OPTIONS, palettes=EXACT_PALETTES), operations=_LOSS)
def shift(trial: Trial[Losses]) -> Verdict:
    """Adding one number to all logits of a position changes nothing."""
    logits = trial.inputs.logits
    added = trial.generator.integers(1, 9, (*logits.shape[:-1], 1)).astype(float)
    return trial.equal(trial.inputs, trial.inputs.with_logits(logits + added))


@judges("uniform", space=_OPTIONS, operations=_LOSS)
def uniform(trial: Trial[Losses]) -> Verdict:
    """With equal logits at each position the loss is ln N for any target."""
    inputs = trial.inputs
    level = inputs.with_logits(np.broadcast_to(inputs.logits[..., :1], inputs.logits.shape).copy())
    allowed = trial.allowed(level)
    return compare(np.log(np.asarray(float(inputs.classes))), trial.output(level), allowed)


@judges("lead", space=LossSpace(ignore="sometimes", least_classes=2), operations=_LOSS)
def lead(trial: Trial[CrossEntropyInputs]) -> Verdict:
    """With every target g ahead of equal rivals the loss is ln(1 + (N − 1) e^(−g))."""
    inputs = trial.inputs
    gap = float(trial.generator.integers(0, 9))
    ahead = inputs.with_logits(np.where(np.arange(inputs.classes) == inputs.targets[..., None], gap, 0.0))
    expected = np.log1p(np.asarray((inputs.classes - 1) * np.exp(-gap)))
    return compare(expected, trial.output(ahead), trial.allowed(ahead))


@judges("nonnegative", space=replace(_OPTIONS, amplitudes=(1, 4, 30)), operations=_LOSS)
def nonnegative(trial: Trial[CrossEntropyInputs]) -> Verdict:
    """The loss lies at or above zero, up to the rounding of a target that is all but certain."""
    output = trial.output(trial.inputs)
    # NaN is not at least zero either.
    expected = np.where(output >= 0.0, output, 0.0)
    return compare(expected, output, trial.allowed(trial.inputs))


@judges("ignore.no_influence", space=LossSpace(ignore="always", smoothing="sometimes"), operations=_LOSS)
def ignored_logits(trial: Trial[Losses]) -> Verdict:
    """Other logits at the ignored targets give the same loss."""
    inputs = trial.inputs
    added = trial.generator.integers(1, 9, inputs.logits.shape).astype(float) * ~inputs.kept[..., None]
    # Zero before, so that the sum is exact in every dtype.
    before = np.where(inputs.kept[..., None], inputs.logits, 0.0)
    return trial.equal(inputs.with_logits(before), inputs.with_logits(before + added))


@judges("batch.permutation", space=replace(_OPTIONS, least_batch=2), operations=_LOSS)
def samples(trial: Trial[Losses]) -> Verdict:
    """The samples in another order give the same loss."""
    inputs = trial.inputs
    return trial.equal(inputs, inputs.take_samples(trial.permutation(len(inputs.targets))))


@judges("positions.permutation", space=replace(_OPTIONS, least_batch=2, least_length=2), operations=_LOSS)
def positions(trial: Trial[CrossEntropyInputs]) -> Verdict:
    """All positions of all samples in another order give the same loss."""
    inputs = trial.inputs
    return trial.equal(inputs, inputs.take_positions(trial.permutation(inputs.targets.size)))


@judges("classes.permutation", space=replace(_OPTIONS, least_classes=2), operations=_LOSS)
def classes(trial: Trial[Losses]) -> Verdict:
    """The classes under other numbers give the same loss."""
    inputs = trial.inputs
    return trial.equal(inputs, inputs.renumber_classes(trial.permutation(inputs.classes)))


@judges("smoothing.value", space=LossSpace(smoothing="always", least_classes=2), operations=_LOSS)
def smoothing_is_a_mixture(trial: Trial[CrossEntropyInputs]) -> Verdict:
    """The smoothed loss is that of the targets and that of every class in turn, mixed."""
    inputs = trial.inputs
    share = inputs.label_smoothing or 0.0
    smoothed = trial.output(inputs)
    allowed = trial.allowed(inputs)
    plain = replace(inputs, label_smoothing=None)
    mixed = (1.0 - share) * trial.output(plain)
    allowed = allowed + (1.0 - share) * trial.allowed(plain)
    # The mean over all classes is the loss of N copies, each with one class as its targets.
    every_class = plain.take_samples(np.tile(np.arange(len(inputs.targets)), inputs.classes))
    numbers = np.repeat(np.arange(inputs.classes), len(inputs.targets))[:, None]
    every_class = replace(every_class, targets=np.broadcast_to(numbers, every_class.targets.shape).copy())
    allowed = allowed + share * trial.allowed(every_class)
    return compare(mixed + share * trial.output(every_class), smoothed, allowed)


@judges("smoothing.zero", space=LossSpace(smoothing="always", shares=(0.0,), ignore="sometimes"), operations=_LOSS)
def smoothing_by_nothing(trial: Trial[CrossEntropyInputs]) -> Verdict:
    """A share of zero gives the loss without smoothing."""
    inputs = trial.inputs
    return trial.equal(replace(inputs, label_smoothing=None), inputs)
