"""The suites of GELU and SiLU."""

from __future__ import annotations

from functools import partial

from veriformer.conformance_tests.core.suite import Suite
from veriformer.conformance_tests.drawing.vectors import VectorCase, VectorSpace, vector_cases
from veriformer.conformance_tests.operations.activations.inputs import ActivationInputs
from veriformer.conformance_tests.operations.activations.rarities import ENTRIES

SUITES = tuple(
    Suite(
        name,
        space=lambda _: VectorSpace(),
        draw=vector_cases,
        inputs=ActivationInputs,
        weight=weight,
        ordinary=VectorCase(2, 3, 4, palette="normal"),
        rarities=ENTRIES,
        variants=("veriformer.conformance_tests.operations.activations.variants", name.upper()),
        given=partial(ActivationInputs.given, name),
    )
    for name, weight in (("gelu", 12), ("silu", 11))
)
