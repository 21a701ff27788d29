"""Laws of the gradient of dropout that are its own; the others are those of dropout."""

from __future__ import annotations

import numpy as np
from veriformer.conformance_tests.core.law import judges
from veriformer.conformance_tests.core.trial import NotOffered, Trial
from veriformer.conformance_tests.core.verdict import Verdict, compare
from veriformer.conformance_tests.drawing.space import EXACT_PALETTES
from veriformer.conformance_tests.operations.dropout.cases import DropoutSpace
from veriformer.conformance_tests.operations.dropout_backward.inputs import DropoutBackwardInputs
from veriformer.conformance_tests.operations.gradients import linear, without_grad_output

_BACKWARD = ("dropout_backward",)
_EXACT = DropoutSpace(palettes=EXACT_PALETTES)

judges("grad_output.linear", space=_EXACT, operations=_BACKWARD)(linear)
judges("grad_output.zero", space=DropoutSpace(), operations=_BACKWARD)(without_grad_output)


@judges("mask.forward", space=DropoutSpace(), operations=_BACKWARD)
def mask_of_forward_pass(trial: Trial[DropoutBackwardInputs]) -> Verdict:
    """The gradients that pass are those of the entries that the forward pass keeps, where x is zero too."""
    if not trial.subject.implementation.declares("dropout"):
        raise NotOffered("no operation dropout")
    forward = trial.inputs.forward
    kept = trial.output(forward.with_x(np.ones(forward.x.shape))) != 0.0
    passed = trial.output(trial.inputs.without_zeros(trial.generator)) != 0.0
    return compare(kept, passed, np.zeros(kept.shape), note="1 where an entry is kept and its gradient passes")
