"""The suite of the gradient of dropout."""

from __future__ import annotations

from veriformer.conformance_tests.core.suite import Suite
from veriformer.conformance_tests.operations.dropout.cases import DropoutCase, dropout_cases
from veriformer.conformance_tests.operations.dropout.suite import ordinary
from veriformer.conformance_tests.operations.dropout_backward.inputs import DropoutBackwardInputs
from veriformer.conformance_tests.operations.dropout_backward.rarities import GRADIENTS

SUITES = (
    Suite(
        "dropout_backward",
        space=ordinary,
        draw=dropout_cases,
        inputs=DropoutBackwardInputs,
        weight=12,
        ordinary=DropoutCase(2, 3, 4, palette="normal"),
        rarities=GRADIENTS,
        variants=("veriformer.conformance_tests.operations.dropout.variants", "DROPOUT_BACKWARD"),
    ),
)
