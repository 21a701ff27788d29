"""Laws of the gradients of attention's weights; `attention_backward.laws` has those that attention has too."""

from __future__ import annotations

import numpy as np
from veriformer.conformance_tests.core.law import judges
from veriformer.conformance_tests.core.trial import Trial
from veriformer.conformance_tests.core.verdict import Verdict
from veriformer.conformance_tests.operations.attention.case import AttentionSpace
from veriformer.conformance_tests.operations.attention_backward.laws.values import no_gradient_of_logits
from veriformer.conformance_tests.operations.gradients import equal
from veriformer.conformance_tests.operations.weights_backward.inputs import WeightsBackwardInputs

_OPERATION = ("attention_weights_backward",)
_ANY = AttentionSpace(mask="sometimes", causal="sometimes", scale="sometimes", least_keys=2)


@judges("grad_output.equal", space=_ANY, operations=_OPERATION)
def equal_gradients(trial: Trial[WeightsBackwardInputs]) -> Verdict:
    """The gradient of the first weight of each query, given to all of its weights, passes nothing on."""
    gradient = trial.inputs.grad_output
    given = trial.inputs.with_cotangents(grad_output=np.broadcast_to(gradient[..., :1], gradient.shape))
    return no_gradient_of_logits(trial, given)


@judges("mask.masked_gradient", space=AttentionSpace(mask="always", least_keys=2), operations=_OPERATION)
def masked_gradient(trial: Trial[WeightsBackwardInputs]) -> Verdict:
    """Other gradients of the weights of hidden keys give the same gradients."""
    inputs = trial.inputs
    hidden = ~inputs.visible(trial.conventions)
    return equal(trial, inputs, inputs.with_cotangents(grad_output=np.where(hidden, 5.0, inputs.grad_output)))
