"""Laws of the loss that a model of unknown formula returns for labels.

Its logits are known, so its loss has a formula: the mean cross-entropy of the logits at their labels, where each
position has its own label or, as in many libraries, that of the next position.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import sqrt

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.core.law import judges
from veriformer.conformance_tests.core.trial import Trial
from veriformer.conformance_tests.core.verdict import Verdict, compare, words
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.black_box.cases import BoxSpace
from veriformer.conformance_tests.operations.black_box.inputs import BoxInputs
from veriformer.conformance_tests.operations.loss.variants.formula import CROSS_ENTROPY
from veriformer.conformance_tests.rounding.precision import UNIT_ROUNDOFF
from veriformer.conformance_tests.variants.family import NotDefined

IGNORED = -100
_SPACE = BoxSpace(least_batch=2, least_length=4)


@judges("loss.value", space=_SPACE, operations=("model",))
def value(trial: Trial[BoxInputs]) -> Verdict:
    """The loss is the mean cross-entropy, of each position's own label or of the next one's."""
    logits = trial.output(trial.inputs)
    return _judged(trial, logits, _labels(trial, logits))


@judges("loss.ignored", space=replace(_SPACE, declared="ignored_labels"), operations=("model",))
def ignored(trial: Trial[BoxInputs]) -> Verdict:
    """Positions whose label says so have no part in the loss, nor in the number that it is divided by."""
    logits = trial.output(trial.inputs)
    labels = _labels(trial, logits)
    left_out = trial.generator.random(labels.shape) < 0.4
    # Some positions count, whether or not labels are those of the next position.
    left_out[:, 1], left_out[0, -1] = False, True
    return _judged(trial, logits, np.where(left_out, IGNORED, labels))


def _labels(trial: Trial[BoxInputs], logits: Array) -> Array:
    return trial.generator.integers(0, logits.shape[-1], logits.shape[:2])


def _judged(trial: Trial[BoxInputs], logits: Array, labels: Array) -> Verdict:
    inputs = replace(trial.inputs, labels=labels)
    result = trial.subject.run(trial.subject.prepare(inputs), inputs)
    if result.shapes != inputs.result_shapes:
        return words("a scalar", f"shape {result.shape}", holds=False)
    loss = result.value
    exact = [reference.cross_entropy(*pair, ignore_index=IGNORED) for pair in _alignments(logits, labels)]
    nearest = min(exact, key=lambda one: abs(float(one) - float(loss)))
    # Many models compute the loss in float32, whatever their logits are.
    roundoff = max(UNIT_ROUNDOFF[trial.inputs.dtype], UNIT_ROUNDOFF.get(result.dtype, 0.0))
    allowed = sqrt(roundoff) * max(1.0, float(np.abs(logits).max()))
    verdict = compare(np.asarray(nearest), loss, np.asarray(allowed))
    return verdict if verdict.holds else replace(verdict, note=_explained(logits, labels, float(loss), allowed))


def _alignments(logits: Array, labels: Array) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """Return logits with their own labels, and with the labels of the next positions."""
    return (logits, labels), (logits[:, :-1], labels[:, 1:])


def _explained(logits: Array, labels: Array, loss: float, allowed: float) -> str:
    """Return the known mistake that gives the loss; empty if none does."""
    names = dict.fromkeys(name for name, other in _mistaken(logits, labels) if abs(other - loss) <= allowed)
    found = " or ".join(f"`{name}`" for name in names)
    return f"this loss is what {found} gives (veriformer explain {next(iter(names))})" if names else ""


def _mistaken(logits: Array, labels: Array) -> Iterator[tuple[str, float]]:
    """Yield the losses of the recorded mistakes, those with the labels of the next positions last."""
    for one, other in _alignments(logits, labels):
        arguments = {"logits": one, "targets": other, "ignore_index": IGNORED, "dtype": "float64"}
        for change in CROSS_ENTROPY.standard.single_changes():
            option = CROSS_ENTROPY.all_decisions[change[0]].option(change[1])
            if not option.slug:
                continue
            try:
                with np.errstate(all="ignore"):
                    yield option.slug, float(CROSS_ENTROPY.standard.changed(change).result(arguments))
            except (NotDefined, IndexError, ValueError):
                continue
