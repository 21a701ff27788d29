"""The suite of initial weights."""

from __future__ import annotations

from veriformer.conformance_tests.core.suite import Suite
from veriformer.conformance_tests.operations.initialisation.cases import InitialCase, InitialSpace, initial_cases
from veriformer.conformance_tests.operations.initialisation.inputs import InitialInputs

SUITES = (
    Suite(
        "initial_weights",
        space=lambda _: InitialSpace(),
        draw=initial_cases,
        inputs=InitialInputs,
        weight=60,
        ordinary=InitialCase("gpt", 2, 64, 4, 4, 160, 12),
        variants=("veriformer.conformance_tests.operations.initialisation.variants", "INITIAL_WEIGHTS"),
    ),
)
