"""The suite of the gradient of rotary embeddings."""

from __future__ import annotations

from veriformer.conformance_tests.core.suite import Suite
from veriformer.conformance_tests.operations.rotary.cases import RotaryCase, RotarySpace, rotary_cases
from veriformer.conformance_tests.operations.rotary_backward.inputs import RotaryBackwardInputs
from veriformer.conformance_tests.operations.rotary_backward.rarities import ROTARY_BACKWARD

SUITES = (
    Suite(
        "rotary_embedding_backward",
        space=lambda _: RotarySpace(),
        draw=rotary_cases,
        inputs=RotaryBackwardInputs,
        weight=22,
        ordinary=RotaryCase(2, 2, 3, 4, palette="normal", furthest=300),
        rarities=ROTARY_BACKWARD,
        variants=("veriformer.conformance_tests.operations.rotary_backward.variants", "ROTARY_BACKWARD"),
    ),
)
