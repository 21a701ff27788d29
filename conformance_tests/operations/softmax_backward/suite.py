"""The suite of the gradient of softmax."""

from __future__ import annotations

from veriformer.conformance_tests.core.suite import Suite
from veriformer.conformance_tests.drawing.vectors import VectorCase, VectorSpace, vector_cases
from veriformer.conformance_tests.operations.softmax_backward.inputs import SoftmaxBackwardInputs
from veriformer.conformance_tests.operations.softmax_backward.rarities import SOFTMAX_BACKWARD

SUITES = (
    Suite(
        "softmax_backward",
        space=lambda _: VectorSpace(),
        draw=vector_cases,
        inputs=SoftmaxBackwardInputs,
        weight=11,
        ordinary=VectorCase(2, 3, 4, palette="normal"),
        rarities=SOFTMAX_BACKWARD,
        variants=("veriformer.conformance_tests.operations.softmax_backward.variants", "SOFTMAX_BACKWARD"),
    ),
)
