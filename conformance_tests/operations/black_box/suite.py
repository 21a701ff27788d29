"""The suite of a model as a black box."""

from __future__ import annotations

from veriformer.conformance_tests.core.suite import Suite
from veriformer.conformance_tests.operations.black_box.cases import BoxSpace, box_cases, long_cases
from veriformer.conformance_tests.operations.black_box.inputs import BoxInputs

SUITES = (
    Suite(
        "model",
        space=lambda how: BoxSpace(padding=how),
        draw=box_cases,
        inputs=BoxInputs,
        weight=40,
        further=long_cases,
    ),
)
