"""Laws of the loss of next tokens."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from veriformer.conformance_tests.core.law import judges
from veriformer.conformance_tests.core.trial import Trial
from veriformer.conformance_tests.core.verdict import Verdict, compare
from veriformer.conformance_tests.drawing.space import EXACT_PALETTES
from veriformer.conformance_tests.operations.loss.cases import LossSpace
from veriformer.conformance_tests.operations.loss.laws import classes, ignored_logits, samples, shift, uniform
from veriformer.conformance_tests.operations.next_token.inputs import NextTokenInputs
from veriformer.conformance_tests.operations.parts import agrees_in

_LOSS = ("next_token_loss",)
_ANY = LossSpace(ignore="sometimes")
_IGNORED = LossSpace(ignore="always", least_classes=2)

for _key, _space in {
    "value": LossSpace(),
    "large_logits": LossSpace(amplitudes=(100,), palettes=("integers", "normal"), least_classes=2),
    "ignore.value": _IGNORED,
}.items():
    judges(_key, space=_space, operations=_LOSS)(agrees_in())

judges("shift", space=replace(_ANY, palettes=EXACT_PALETTES), operations=_LOSS)(shift)
judges("uniform", space=_ANY, operations=_LOSS)(uniform)
judges("classes.permutation", space=replace(_ANY, least_classes=2), operations=_LOSS)(classes)
judges("ignore.no_influence", space=LossSpace(ignore="always"), operations=_LOSS)(ignored_logits)
judges("batch.permutation", space=replace(_ANY, least_batch=2, least_classes=2), operations=_LOSS)(samples)


@judges(
    "tokens.first",
    # A row alone has none before it, whose last logits its first token could judge.
    space=replace(_ANY, least_batch=2, least_classes=2),
    operations=(*_LOSS, "next_token_loss_backward"),
)
def first_token(trial: Trial[NextTokenInputs]) -> Verdict:
    """Rows that begin with another class, or with the ignored value, give the same result."""
    inputs = trial.inputs
    tokens, count = inputs.tokens.copy(), len(inputs.tokens)
    tokens[:, 0] = (tokens[:, 0] + trial.generator.integers(1, inputs.classes, count)) % inputs.classes
    if inputs.ignore_index is not None:
        tokens[:, 0] = np.where(trial.generator.random(count) < 0.5, inputs.ignore_index, tokens[:, 0])
    return trial.equal(inputs, replace(inputs, tokens=tokens))


@judges("logits.last", space=replace(_ANY, least_classes=2), operations=_LOSS)
def last_logits(trial: Trial[NextTokenInputs]) -> Verdict:
    """Other logits at the last tokens give the same loss."""
    inputs = trial.inputs
    logits = inputs.logits.copy()
    logits[:, -1] = trial.generator.integers(-8, 9, logits[:, -1].shape)
    return trial.equal(inputs, inputs.with_logits(logits))


@judges("lead", space=replace(_ANY, least_classes=2), operations=_LOSS)
def lead(trial: Trial[NextTokenInputs]) -> Verdict:
    """With every next token g ahead of equal rivals the loss is ln(1 + (N − 1) e^(−g))."""
    inputs = trial.inputs
    gap = float(trial.generator.integers(1, 9))
    ahead = inputs.with_logits(np.where(np.arange(inputs.classes) == inputs.targets[..., None], gap, 0.0))
    expected = np.log1p(np.asarray((inputs.classes - 1) * np.exp(-gap)))
    return compare(expected, trial.output(ahead), trial.allowed(ahead))


@judges("batch.copies", space=replace(_ANY, least_classes=2), operations=_LOSS)
def copies(trial: Trial[NextTokenInputs]) -> Verdict:
    """The batch twice, one after the other, gives the same loss."""
    inputs = trial.inputs
    return trial.equal(inputs, inputs.take_samples(np.tile(np.arange(len(inputs.tokens)), 2)))


@judges("micro_batches", space=replace(_ANY, least_batch=2, least_classes=2), operations=_LOSS)
def micro_batches(trial: Trial[NextTokenInputs]) -> Verdict:
    """The losses of the first rows and of the others, weighted by their targets that count, have the whole's mean."""
    inputs = trial.inputs
    rows = len(inputs.tokens)
    cut = int(trial.generator.integers(1, rows))
    parts = (inputs.take_samples(np.arange(cut)), inputs.take_samples(np.arange(cut, rows)))
    # A part of which nothing counts has no loss, and no weight.
    weighed = [(float(part.kept.sum() / inputs.kept.sum()), part) for part in parts if part.kept.any()]
    mean = np.asarray(sum(share * trial.output(part) for share, part in weighed))
    allowed = trial.allowed(inputs) + sum(share * trial.allowed(part) for share, part in weighed)
    return compare(mean, trial.output(inputs), np.asarray(allowed), may_be_nan=False)
