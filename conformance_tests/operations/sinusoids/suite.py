"""The suite of sinusoidal positions."""

from __future__ import annotations

from veriformer.conformance_tests.core.suite import Suite
from veriformer.conformance_tests.operations.sinusoids.cases import PositionCase, PositionSpace, position_cases
from veriformer.conformance_tests.operations.sinusoids.inputs import PositionInputs
from veriformer.conformance_tests.operations.sinusoids.rarities import SINUSOIDS

SUITES = (
    Suite(
        "sinusoidal_positions",
        space=lambda _: PositionSpace(),
        draw=position_cases,
        inputs=PositionInputs,
        weight=10,
        ordinary=PositionCase(3, 4),
        rarities=SINUSOIDS,
        variants=("veriformer.conformance_tests.operations.sinusoids.variants", "SINUSOIDS"),
        given=lambda dtype, arguments: PositionInputs(dtype=dtype, **arguments),
    ),
)
