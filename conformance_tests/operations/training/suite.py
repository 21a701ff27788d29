"""The suite of training steps."""

from __future__ import annotations

from veriformer.conformance_tests.core.suite import Suite
from veriformer.conformance_tests.operations.training.cases import TrainingCase, TrainingSpace, suited, training_cases
from veriformer.conformance_tests.operations.training.inputs import TrainingInputs
from veriformer.conformance_tests.operations.training.rarities import TRAINING

SUITES = (
    Suite(
        "training_steps",
        space=lambda how: TrainingSpace(ignore_index=how, micro_batches=how),
        draw=training_cases,
        inputs=TrainingInputs,
        weight=200,
        ordinary=TrainingCase("", 2, 4, 4, 2, 1, 3, 1, 5, palette="normal"),
        rarities=TRAINING,
        suited=suited,
        variants=("veriformer.conformance_tests.operations.training.variants", "TRAINING_STEPS"),
    ),
)
