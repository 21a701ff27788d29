"""The suite of clipping by the norm of all gradients."""

from __future__ import annotations

from veriformer.conformance_tests.core.suite import Suite
from veriformer.conformance_tests.operations.clipping.cases import ClipCase, ClipSpace, clip_cases
from veriformer.conformance_tests.operations.clipping.inputs import ClipInputs
from veriformer.conformance_tests.operations.clipping.rarities import CLIPPING

SUITES = (
    Suite(
        "clip_by_global_norm",
        space=lambda _: ClipSpace(),
        draw=clip_cases,
        inputs=ClipInputs,
        weight=25,
        ordinary=ClipCase(3, 2, 3, palette="normal"),
        rarities=CLIPPING,
        variants=("veriformer.conformance_tests.operations.clipping.variants", "CLIPPING"),
        given=ClipInputs.given,
    ),
)
