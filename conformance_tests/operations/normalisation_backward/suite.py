"""The suites of the gradients of layer and RMS normalisation."""

from __future__ import annotations

from veriformer.conformance_tests.core.suite import Suite
from veriformer.conformance_tests.drawing.vectors import VectorCase, VectorSpace, vector_cases
from veriformer.conformance_tests.operations.normalisation_backward.inputs import (
    LayerNormBackwardInputs,
    RmsNormBackwardInputs,
)
from veriformer.conformance_tests.operations.normalisation_backward.rarities import LAYER_NORM, RMS_NORM

_ORDINARY = VectorCase(2, 3, 4, palette="normal")
_VARIANTS = "veriformer.conformance_tests.operations.normalisation_backward.variants"
SUITES = (
    Suite(
        "layer_norm_backward",
        space=lambda _: VectorSpace(least_width=2),
        draw=vector_cases,
        inputs=LayerNormBackwardInputs,
        weight=18,
        ordinary=_ORDINARY,
        rarities=LAYER_NORM,
        variants=(_VARIANTS, "LAYER_NORM_BACKWARD"),
        given=lambda dtype, arguments: LayerNormBackwardInputs(dtype=dtype, **arguments),
    ),
    Suite(
        "rms_norm_backward",
        space=lambda _: VectorSpace(),
        draw=vector_cases,
        inputs=RmsNormBackwardInputs,
        weight=15,
        ordinary=_ORDINARY,
        rarities=RMS_NORM,
        variants=(_VARIANTS, "RMS_NORM_BACKWARD"),
        given=lambda dtype, arguments: RmsNormBackwardInputs(dtype=dtype, **arguments),
    ),
)
