"""The suite of rotary embeddings."""

from __future__ import annotations

from veriformer.conformance_tests.core.suite import Suite
from veriformer.conformance_tests.operations.rotary.cases import RotaryCase, RotarySpace, rotary_cases
from veriformer.conformance_tests.operations.rotary.inputs import RotaryInputs
from veriformer.conformance_tests.operations.rotary.rarities import ROTARY

SUITES = (
    Suite(
        "rotary_embedding",
        space=lambda _: RotarySpace(),
        draw=rotary_cases,
        inputs=RotaryInputs,
        weight=20,
        ordinary=RotaryCase(2, 2, 3, 4, palette="normal", furthest=300),
        rarities=ROTARY,
        variants=("veriformer.conformance_tests.operations.rotary.variants.formula", "ROTARY"),
    ),
)
