"""The gradients of attention with a bias, a window, a soft cap or sinks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from veriformer.conformance_tests.core.law import judges
from veriformer.conformance_tests.core.trial import Trial
from veriformer.conformance_tests.core.verdict import Verdict
from veriformer.conformance_tests.operations.attention.case import AttentionSpace
from veriformer.conformance_tests.operations.attention_backward.inputs import BACKWARD, LogitsBackwardInputs
from veriformer.conformance_tests.operations.attention_backward.laws.masks import no_gradient
from veriformer.conformance_tests.operations.parts import agrees

_SEVERAL = AttentionSpace(least_queries=2, least_keys=2)
_WINDOWED = replace(_SEVERAL, window="always")


@judges(
    "bias.value",
    space=replace(_SEVERAL, bias="always", mask="sometimes", causal="sometimes"),
    operations=BACKWARD,
)
@judges("window.value", space=replace(_WINDOWED, mask="sometimes", causal="sometimes"), operations=BACKWARD)
@judges("softcap.slope", space=replace(_SEVERAL, softcap="always", scale="sometimes"), operations=BACKWARD)
@judges(
    "sinks.value",
    space=replace(_SEVERAL, sinks="always", mask="sometimes", causal="sometimes", amplitudes=(1,)),
    operations=BACKWARD,
)
@judges(
    "order_of_steps",
    space=AttentionSpace(
        scale="always",
        softcap="always",
        bias="always",
        mask="always",
        window="always",
        sinks="always",
        causal="sometimes",
        least_queries=3,
        least_keys=3,
    ),
    operations=BACKWARD,
)
def agrees_with_formula(trial: Trial[LogitsBackwardInputs]) -> Verdict:
    """All gradients are the formula's."""
    return agrees(trial, trial.inputs)


@judges(
    "window.no_gradient_beyond",
    space=replace(_WINDOWED, lengths="equal", least_queries=3, least_keys=3),
    operations=BACKWARD,
)
def no_gradient_beyond(trial: Trial[LogitsBackwardInputs]) -> Verdict:
    """A loss on the last output alone gives no gradient to what its window does not have."""
    inputs: LogitsBackwardInputs = replace(trial.inputs, window=(1, 1))
    grad_output = np.zeros_like(inputs.grad_output)
    grad_output[:, :, -1] = inputs.grad_output[:, :, -1]
    beyond = inputs.not_shown(inputs.visible(trial.conventions)[:, :, -1:])
    return no_gradient(trial, replace(inputs, grad_output=grad_output), beyond)
