"""The suites of the gradients of GELU and SiLU."""

from __future__ import annotations

from functools import partial

from veriformer.conformance_tests.core.suite import Suite
from veriformer.conformance_tests.drawing.vectors import VectorCase, VectorSpace, vector_cases
from veriformer.conformance_tests.operations.activations_backward.inputs import ActivationBackwardInputs
from veriformer.conformance_tests.operations.activations_backward.rarities import ENTRIES

SUITES = tuple(
    Suite(
        name,
        space=lambda _: VectorSpace(),
        draw=vector_cases,
        inputs=ActivationBackwardInputs,
        weight=weight,
        ordinary=VectorCase(2, 3, 4, palette="normal"),
        rarities=ENTRIES[name],
        variants=("veriformer.conformance_tests.operations.activations_backward.variants", name.upper()),
        given=partial(ActivationBackwardInputs.given, name),
    )
    for name, weight in (("gelu_backward", 12), ("silu_backward", 11))
)
