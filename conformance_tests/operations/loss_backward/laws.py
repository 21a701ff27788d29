"""Laws of the gradient of cross entropy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from veriformer.conformance_tests.core.law import judges
from veriformer.conformance_tests.core.trial import Trial
from veriformer.conformance_tests.core.verdict import Verdict, compare
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.space import EXACT_PALETTES
from veriformer.conformance_tests.operations.gradients import linear, rows_sum_to_zero, without_grad_output
from veriformer.conformance_tests.operations.loss.cases import REDUCTIONS, LossSpace
from veriformer.conformance_tests.operations.loss.laws import ignored_logits, shift
from veriformer.conformance_tests.operations.loss_backward.inputs import CrossEntropyBackwardInputs
from veriformer.conformance_tests.operations.parts import agrees_in

_LOSS = ("cross_entropy_backward",)
_OPTIONS = LossSpace(ignore="sometimes", smoothing="sometimes")
_REDUCED = replace(_OPTIONS, reductions=REDUCTIONS)
_SEVERAL = LossSpace(least_classes=2)

for _key, _space in {
    "grad_logits": LossSpace(),
    "large_logits": replace(_SEVERAL, amplitudes=(100,), palettes=("integers", "normal")),
    "ignore.value": replace(_SEVERAL, ignore="always"),
    "smoothing.value": replace(_SEVERAL, smoothing="always"),
    "smoothing.ignored": replace(_SEVERAL, ignore="always", smoothing="always"),
    "reduction.sum": replace(_OPTIONS, reductions=("sum",), least_classes=2),
    "reduction.none": replace(_SEVERAL, smoothing="sometimes", reductions=("none",)),
    "reduction.none.ignored": replace(_SEVERAL, ignore="always", smoothing="sometimes", reductions=("none",)),
}.items():
    judges(_key, space=_space, operations=_LOSS)(agrees_in())

judges("grad_output.linear", space=replace(_REDUCED, palettes=EXACT_PALETTES), operations=_LOSS)(linear)
judges("grad_output.zero", space=_REDUCED, operations=_LOSS)(without_grad_output)
judges("rows_sum_to_zero", space=_REDUCED, operations=_LOSS)(rows_sum_to_zero)
judges("shift", space=replace(_REDUCED, palettes=EXACT_PALETTES), operations=_LOSS)(shift)
judges("ignore.no_influence", space=replace(_REDUCED, ignore="always"), operations=_LOSS)(ignored_logits)


@judges("direction", space=replace(_SEVERAL, ignore="sometimes", reductions=REDUCTIONS), operations=_LOSS)
def direction(trial: Trial[CrossEntropyBackwardInputs]) -> Verdict:
    """Given a positive gradient of the loss, a target's gradient is not positive and a rival's not negative."""
    inputs = trial.inputs.with_cotangents(grad_output=np.abs(trial.inputs.grad_output))
    output = trial.output(inputs)
    of_target = np.arange(inputs.classes) == inputs.targets[..., None]
    # NaN is on neither side.
    right = np.where(of_target, output <= 0.0, output >= 0.0)
    return compare(np.where(right, output, 0.0), output, trial.allowed(inputs))


@judges("uniform", space=_OPTIONS, operations=_LOSS)
def uniform(trial: Trial[CrossEntropyBackwardInputs]) -> Verdict:
    """With equal logits at each position the gradients are those of probabilities 1/N."""
    inputs = trial.inputs
    level = inputs.with_logits(np.broadcast_to(inputs.logits[..., :1], inputs.logits.shape).copy())
    share, kept = inputs.label_smoothing or 0.0, inputs.kept
    of_target = np.arange(inputs.classes) == inputs.targets[..., None]
    # 1/N − (1 − ε) δ − ε/N
    rows = (1.0 - share) * (1.0 / inputs.classes - of_target)
    expected = np.where(kept[..., None], inputs.grad_output / kept.sum() * rows, 0.0)
    return compare(expected, trial.output(level), trial.allowed(level))


@judges("ignore.zero", space=replace(_REDUCED, ignore="always"), operations=_LOSS)
def ignored_rows(trial: Trial[CrossEntropyBackwardInputs]) -> Verdict:
    """The gradients at ignored targets are zero, exactly."""
    inputs = trial.inputs
    rows = trial.output(inputs)[~inputs.kept]
    return compare(np.zeros(rows.shape), rows, np.zeros(rows.shape))


@judges("batch.permutation", space=replace(_REDUCED, least_batch=2), operations=_LOSS)
def samples(trial: Trial[CrossEntropyBackwardInputs]) -> Verdict:
    """The samples in another order have the same gradients, in that order."""
    inputs = trial.inputs
    order = trial.permutation(len(inputs.targets))
    return trial.equal(inputs, inputs.take_samples(order), of_first=lambda result: result[order])


@judges("positions.permutation", space=replace(_REDUCED, least_batch=2, least_length=2), operations=_LOSS)
def positions(trial: Trial[CrossEntropyBackwardInputs]) -> Verdict:
    """All positions of all samples in another order have the same gradients, in that order."""
    inputs = trial.inputs
    order = trial.permutation(inputs.targets.size)

    def reordered(result: Array) -> Array:
        return np.asarray(result.reshape(-1, inputs.classes)[order].reshape(result.shape))

    return trial.equal(inputs, inputs.take_positions(order), of_first=reordered)


@judges("classes.permutation", space=replace(_REDUCED, least_classes=2), operations=_LOSS)
def classes(trial: Trial[CrossEntropyBackwardInputs]) -> Verdict:
    """The classes under other numbers have the same gradients, under these numbers."""
    inputs = trial.inputs
    order = trial.permutation(inputs.classes)
    return trial.equal(inputs, inputs.renumber_classes(order), of_first=lambda result: result[..., order])


@judges(
    "smoothing.zero",
    space=replace(_REDUCED, smoothing="always", shares=(0.0,)),
    operations=_LOSS,
)
def smoothing_by_nothing(trial: Trial[CrossEntropyBackwardInputs]) -> Verdict:
    """A share of zero gives the gradients without smoothing."""
    inputs = trial.inputs
    return trial.equal(replace(inputs, label_smoothing=None), inputs)


@judges("reduction.mean", space=replace(_OPTIONS, reductions=("mean",), least_classes=2), operations=_LOSS)
def mean_is_the_default(trial: Trial[CrossEntropyBackwardInputs]) -> Verdict:
    """The reduction "mean" gives the default gradients."""
    inputs = trial.inputs
    return trial.equal(replace(inputs, reduction=None), inputs)


@judges("reduction.count", space=replace(_OPTIONS, reductions=("mean",), least_classes=2), operations=_LOSS)
def sum_is_mean_times_count(trial: Trial[CrossEntropyBackwardInputs]) -> Verdict:
    """The gradients of the mean, times the number of targets that count, are those of the sum."""
    inputs, count = trial.inputs, float(trial.inputs.kept.sum())
    summed = replace(inputs, reduction="sum")
    allowed = count * trial.allowed(inputs) + trial.allowed(summed)
    return compare(count * trial.output(inputs), trial.output(summed), allowed)


@judges(
    "reduction.none.own",
    space=replace(_OPTIONS, reductions=("none",), least_batch=2, least_classes=2),
    operations=_LOSS,
)
def own_gradient(trial: Trial[CrossEntropyBackwardInputs]) -> Verdict:
    """Another gradient of one loss leaves the gradients of the other positions as they are."""
    inputs = trial.inputs
    place = int(trial.generator.integers(inputs.targets.size))
    changed = inputs.grad_output.copy()
    changed.flat[place] += 3.0

    def others(result: Array) -> Array:
        return np.delete(result.reshape(-1, inputs.classes), place, axis=0)

    return trial.equal(inputs, inputs.with_cotangents(grad_output=changed), of_first=others, of_second=others)
