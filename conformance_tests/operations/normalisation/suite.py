"""The suites of layer and RMS normalisation."""

from __future__ import annotations

from veriformer.conformance_tests.core.suite import Suite
from veriformer.conformance_tests.drawing.vectors import VectorCase, VectorSpace, vector_cases
from veriformer.conformance_tests.operations.normalisation.inputs import LayerNormInputs, RmsNormInputs
from veriformer.conformance_tests.operations.normalisation.rarities import LAYER_NORM, RMS_NORM

_ORDINARY = VectorCase(2, 3, 4, palette="normal")
_VARIANTS = "veriformer.conformance_tests.operations.normalisation.variants"
SUITES = (
    Suite(
        "layer_norm",
        space=lambda _: VectorSpace(least_width=2),
        draw=vector_cases,
        inputs=LayerNormInputs,
        weight=14,
        ordinary=_ORDINARY,
        rarities=LAYER_NORM,
        variants=(_VARIANTS, "LAYER_NORM"),
    ),
    Suite(
        "rms_norm",
        space=lambda _: VectorSpace(),
        draw=vector_cases,
        inputs=RmsNormInputs,
        weight=12,
        ordinary=_ORDINARY,
        rarities=RMS_NORM,
        variants=(_VARIANTS, "RMS_NORM"),
    ),
)
