"""The suite of the gradients of attention's weights."""

from __future__ import annotations

from veriformer.conformance_tests.core.suite import Suite
from veriformer.conformance_tests.operations.attention.case import suited
from veriformer.conformance_tests.operations.attention.drawing import attention_cases
from veriformer.conformance_tests.operations.attention.rarities import WEIGHTS_GRADIENTS
from veriformer.conformance_tests.operations.attention.suite import ORDINARY, optional_inputs
from veriformer.conformance_tests.operations.weights_backward.inputs import WeightsBackwardInputs

_OPERATION = "attention_weights_backward"
SUITES = (
    Suite(
        _OPERATION,
        space=optional_inputs,
        draw=attention_cases,
        inputs=WeightsBackwardInputs,
        weight=40,
        ordinary=ORDINARY,
        rarities=WEIGHTS_GRADIENTS,
        suited=suited,
        variants=("veriformer.conformance_tests.operations.weights_backward.variants", "WEIGHTS_BACKWARD"),
        given=lambda dtype, arguments: WeightsBackwardInputs(operation=_OPERATION, dtype=dtype, **arguments),
    ),
)
