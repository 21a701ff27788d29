"""The suite of a step of AdamW."""

from __future__ import annotations

from veriformer.conformance_tests.core.suite import Suite
from veriformer.conformance_tests.operations.adamw.cases import StepCase, StepSpace, step_cases
from veriformer.conformance_tests.operations.adamw.inputs import StepInputs
from veriformer.conformance_tests.operations.adamw.rarities import STEPS

SUITES = (
    Suite(
        "adamw_step",
        space=lambda _: StepSpace(),
        draw=step_cases,
        inputs=StepInputs,
        weight=25,
        ordinary=StepCase(2, 3, 5, palette="normal"),
        rarities=STEPS,
        variants=("veriformer.conformance_tests.operations.adamw.variants", "ADAMW"),
    ),
)
