"""The suite of the gradients of attention."""

from __future__ import annotations

from veriformer.conformance_tests.core.suite import Suite
from veriformer.conformance_tests.operations.attention.case import suited
from veriformer.conformance_tests.operations.attention.drawing import attention_cases
from veriformer.conformance_tests.operations.attention.rarities import GRADIENTS
from veriformer.conformance_tests.operations.attention.suite import ORDINARY, optional_inputs
from veriformer.conformance_tests.operations.attention_backward.inputs import BackwardInputs

_OPERATION = "scaled_dot_product_attention_backward"
SUITES = (
    Suite(
        _OPERATION,
        space=optional_inputs,
        draw=attention_cases,
        inputs=BackwardInputs,
        weight=62,
        ordinary=ORDINARY,
        rarities=GRADIENTS,
        suited=suited,
        variants=("veriformer.conformance_tests.operations.attention_backward.variants", "ATTENTION_BACKWARD"),
        given=lambda dtype, arguments: BackwardInputs(operation=_OPERATION, dtype=dtype, **arguments),
    ),
)
