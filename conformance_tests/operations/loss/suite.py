"""The suite of the cross-entropy."""

from __future__ import annotations

from veriformer.conformance_tests.core.suite import Suite
from veriformer.conformance_tests.drawing.space import How
from veriformer.conformance_tests.operations.loss.cases import REDUCTIONS, LossCase, LossSpace, loss_cases
from veriformer.conformance_tests.operations.loss.inputs import CrossEntropyInputs
from veriformer.conformance_tests.operations.loss.rarities import LOSSES


def _space(how: How) -> LossSpace:
    return LossSpace(ignore=how, smoothing=how, reductions=(None,) if how == "never" else REDUCTIONS)


SUITES = (
    Suite(
        "cross_entropy",
        space=_space,
        draw=loss_cases,
        inputs=CrossEntropyInputs,
        weight=19,
        ordinary=LossCase(2, 3, 5, palette="normal"),
        rarities=LOSSES,
        variants=("veriformer.conformance_tests.operations.loss.variants.formula", "CROSS_ENTROPY"),
    ),
)
