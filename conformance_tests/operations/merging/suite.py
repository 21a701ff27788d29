"""The suite of merged attention."""

from __future__ import annotations

from veriformer.conformance_tests.core.suite import Suite
from veriformer.conformance_tests.operations.merging.cases import MergeCase, MergeSpace, merge_cases
from veriformer.conformance_tests.operations.merging.inputs import MergeInputs
from veriformer.conformance_tests.operations.merging.rarities import MERGING

SUITES = (
    Suite(
        "merge_attention",
        space=lambda _: MergeSpace(),
        draw=merge_cases,
        inputs=MergeInputs,
        weight=25,
        ordinary=MergeCase(2, 2, 3, 4, 5, palette="normal"),
        rarities=MERGING,
        variants=("veriformer.conformance_tests.operations.merging.variants", "MERGING"),
    ),
)
