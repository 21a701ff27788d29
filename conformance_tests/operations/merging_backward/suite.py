"""The suite of the gradients of merged attention."""

from __future__ import annotations

from veriformer.conformance_tests.core.suite import Suite
from veriformer.conformance_tests.operations.merging.cases import MergeCase, MergeSpace, merge_cases
from veriformer.conformance_tests.operations.merging_backward.inputs import MergeBackwardInputs
from veriformer.conformance_tests.operations.merging_backward.rarities import MERGING_BACKWARD

SUITES = (
    Suite(
        "merge_attention_backward",
        space=lambda _: MergeSpace(),
        draw=merge_cases,
        inputs=MergeBackwardInputs,
        weight=25,
        ordinary=MergeCase(2, 2, 3, 4, 5, palette="normal"),
        rarities=MERGING_BACKWARD,
        variants=("veriformer.conformance_tests.operations.merging_backward.variants", "MERGING_BACKWARD"),
    ),
)
