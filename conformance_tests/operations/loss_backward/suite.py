"""The suite of the gradient of the cross-entropy."""

from __future__ import annotations

from veriformer.conformance_tests.core.suite import Suite
from veriformer.conformance_tests.drawing.space import How
from veriformer.conformance_tests.operations.loss.cases import REDUCTIONS, LossCase, LossSpace, loss_cases
from veriformer.conformance_tests.operations.loss_backward.inputs import CrossEntropyBackwardInputs
from veriformer.conformance_tests.operations.loss_backward.rarities import LOSSES_BACKWARD


def _space(how: How) -> LossSpace:
    return LossSpace(ignore=how, smoothing=how, reductions=(None,) if how == "never" else REDUCTIONS)


SUITES = (
    Suite(
        "cross_entropy_backward",
        space=_space,
        draw=loss_cases,
        inputs=CrossEntropyBackwardInputs,
        weight=22,
        ordinary=LossCase(2, 3, 5, palette="normal"),
        rarities=LOSSES_BACKWARD,
        variants=("veriformer.conformance_tests.operations.loss_backward.variants", "CROSS_ENTROPY_BACKWARD"),
    ),
)
