"""The suites of the gradients of a bias and of sinks."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from veriformer.conformance_tests.core.suite import Suite
from veriformer.conformance_tests.operations.additions_backward.constants import without_gradient
from veriformer.conformance_tests.operations.additions_backward.inputs import BIAS, SINKS, AdditionInputs
from veriformer.conformance_tests.operations.additions_backward.rarities import OF_BIAS, OF_SINKS
from veriformer.conformance_tests.operations.attention.case import suited, with_additions
from veriformer.conformance_tests.operations.attention.drawing import attention_cases
from veriformer.conformance_tests.operations.attention.suite import ORDINARY, optional_inputs


def _given(operation: str, dtype: str, arguments: Mapping[str, Any]) -> AdditionInputs:
    return AdditionInputs(operation=operation, dtype=dtype, **arguments)


SUITES = tuple(
    Suite(
        name,
        space=optional_inputs,
        draw=attention_cases,
        inputs=AdditionInputs,
        weight=40,
        ordinary=with_additions(ORDINARY, name),
        rarities=rarities,
        suited=suited,
        variants=("veriformer.conformance_tests.operations.additions_backward.variants", family),
        given=partial(_given, name),
        lacking=without_gradient,
    )
    for name, rarities, family in ((BIAS, OF_BIAS, "BIAS_BACKWARD"), (SINKS, OF_SINKS, "SINKS_BACKWARD"))
)
