"""The suite of softmax."""

from __future__ import annotations

from veriformer.conformance_tests.core.suite import Suite
from veriformer.conformance_tests.drawing.vectors import VectorCase, VectorSpace, vector_cases
from veriformer.conformance_tests.operations.softmax.inputs import SoftmaxInputs
from veriformer.conformance_tests.operations.softmax.rarities import SOFTMAX

SUITES = (
    Suite(
        "softmax",
        space=lambda _: VectorSpace(),
        draw=vector_cases,
        inputs=SoftmaxInputs,
        weight=11,
        ordinary=VectorCase(2, 3, 4, palette="normal"),
        rarities=SOFTMAX,
        variants=("veriformer.conformance_tests.operations.softmax.variants.formula", "SOFTMAX"),
    ),
)
