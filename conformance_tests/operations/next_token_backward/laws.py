"""Laws of the gradient of the loss of next tokens."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from veriformer.conformance_tests.core.law import judges
from veriformer.conformance_tests.core.trial import Trial
from veriformer.conformance_tests.core.verdict import Verdict, compare
from veriformer.conformance_tests.drawing.space import EXACT_PALETTES
from veriformer.conformance_tests.operations.gradients import linear, rows_sum_to_zero, without_grad_output
from veriformer.conformance_tests.operations.loss.cases import LossSpace
from veriformer.conformance_tests.operations.loss.laws import ignored_logits, shift
from veriformer.conformance_tests.operations.next_token_backward.inputs import NextTokenBackwardInputs
from veriformer.conformance_tests.operations.parts import agrees_in

_LOSS = ("next_token_loss_backward",)
_ANY = LossSpace(ignore="sometimes")
_SEVERAL = LossSpace(least_classes=2)
_EXACT = replace(_ANY, palettes=EXACT_PALETTES)

for _key, _space in {
    "grad_logits": LossSpace(),
    "large_logits": replace(_SEVERAL, amplitudes=(100,), palettes=("integers", "normal")),
    "ignore.value": replace(_SEVERAL, ignore="always"),
}.items():
    judges(_key, space=_space, operations=_LOSS)(agrees_in())

judges("grad_output.linear", space=_EXACT, operations=_LOSS)(linear)
judges("grad_output.zero", space=_ANY, operations=_LOSS)(without_grad_output)
judges("rows_sum_to_zero", space=_ANY, operations=_LOSS)(rows_sum_to_zero)
judges("shift", space=_EXACT, operations=_LOSS)(shift)
judges("ignore.no_influence", space=replace(_ANY, ignore="always"), operations=_LOSS)(ignored_logits)


@judges("logits.last", space=_ANY, operations=_LOSS)
def last_logits(trial: Trial[NextTokenBackwardInputs]) -> Verdict:
    """The gradients at the last tokens are zero, exactly."""
    rows = trial.output(trial.inputs)[:, -1]
    return compare(np.zeros(rows.shape), rows, np.zeros(rows.shape))


@judges("ignore.zero", space=replace(_ANY, ignore="always"), operations=_LOSS)
def ignored_rows(trial: Trial[NextTokenBackwardInputs]) -> Verdict:
    """The gradients where the next token is ignored are zero, exactly."""
    inputs = trial.inputs
    rows = trial.output(inputs)[:, :-1][~inputs.kept[:, :-1]]
    return compare(np.zeros(rows.shape), rows, np.zeros(rows.shape))


@judges("batch.permutation", space=replace(_ANY, least_batch=2, least_classes=2), operations=_LOSS)
def samples(trial: Trial[NextTokenBackwardInputs]) -> Verdict:
    """The rows in another order have the same gradients, in that order."""
    inputs = trial.inputs
    order = trial.permutation(len(inputs.tokens))
    return trial.equal(inputs, inputs.take_samples(order), of_first=lambda result: result[order])
