"""The suite of the gradients of grouped-query attention."""

from __future__ import annotations

from dataclasses import replace

from veriformer.conformance_tests.core.suite import Suite
from veriformer.conformance_tests.operations.attention.case import suited
from veriformer.conformance_tests.operations.attention.drawing import attention_cases
from veriformer.conformance_tests.operations.attention.rarities import GROUPED_GRADIENTS
from veriformer.conformance_tests.operations.attention.suite import ORDINARY, optional_inputs
from veriformer.conformance_tests.operations.grouped_query_backward.inputs import GroupedBackwardInputs

_OPERATION = "grouped_query_attention_backward"
SUITES = (
    Suite(
        _OPERATION,
        space=optional_inputs,
        draw=attention_cases,
        inputs=GroupedBackwardInputs,
        weight=62,
        ordinary=replace(ORDINARY, heads=4),
        rarities=GROUPED_GRADIENTS,
        suited=suited,
        variants=("veriformer.conformance_tests.operations.grouped_query_backward.variants", "GROUPED_QUERY_BACKWARD"),
        given=lambda dtype, arguments: GroupedBackwardInputs(operation=_OPERATION, dtype=dtype, **arguments),
    ),
)
