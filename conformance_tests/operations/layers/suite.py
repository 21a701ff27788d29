"""The suites of encoder and decoder layers."""

from __future__ import annotations

from veriformer.conformance_tests.core.suite import Suite
from veriformer.conformance_tests.operations.layers.cases import LayerCase, LayerSpace, layer_cases, suited
from veriformer.conformance_tests.operations.layers.inputs import LayerInputs
from veriformer.conformance_tests.operations.layers.rarities import DECODER_LAYER, ENCODER_LAYER

_VARIANTS = "veriformer.conformance_tests.operations.layers.variants.formula"
SUITES = (
    Suite(
        "encoder_layer",
        space=lambda how: LayerSpace(padding=how),
        draw=layer_cases,
        inputs=LayerInputs,
        weight=47,
        ordinary=LayerCase(2, 2, 3, 2, 4, palette="normal", activation="gelu"),
        rarities=ENCODER_LAYER,
        suited=suited,
        variants=(_VARIANTS, "ENCODER_LAYER"),
    ),
    Suite(
        "decoder_layer",
        space=lambda how: LayerSpace(padding=how, memory_padding=how),
        draw=layer_cases,
        inputs=LayerInputs,
        weight=64,
        ordinary=LayerCase(2, 2, 3, 2, 4, 5, palette="normal", activation="gelu"),
        rarities=DECODER_LAYER,
        suited=suited,
        variants=(_VARIANTS, "DECODER_LAYER"),
    ),
)
