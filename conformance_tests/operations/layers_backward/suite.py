"""The suites of the gradients of encoder and decoder layers."""

from __future__ import annotations

from veriformer.conformance_tests.core.suite import Suite
from veriformer.conformance_tests.operations.layers.cases import LayerCase, LayerSpace, layer_cases
from veriformer.conformance_tests.operations.layers_backward.inputs import LayerBackwardInputs
from veriformer.conformance_tests.operations.layers_backward.rarities import DECODER_LAYER, ENCODER_LAYER

_VARIANTS = "veriformer.conformance_tests.operations.layers_backward.variants"
SUITES = (
    Suite(
        "encoder_layer_backward",
        space=lambda how: LayerSpace(padding=how),
        draw=layer_cases,
        inputs=LayerBackwardInputs,
        weight=90,
        ordinary=LayerCase(2, 2, 3, 2, 4, palette="normal", activation="gelu"),
        rarities=ENCODER_LAYER,
        variants=(_VARIANTS, "ENCODER_LAYER_BACKWARD"),
    ),
    Suite(
        "decoder_layer_backward",
        space=lambda how: LayerSpace(padding=how, memory_padding=how),
        draw=layer_cases,
        inputs=LayerBackwardInputs,
        weight=120,
        ordinary=LayerCase(2, 2, 3, 2, 4, 5, palette="normal", activation="gelu"),
        rarities=DECODER_LAYER,
        variants=(_VARIANTS, "DECODER_LAYER_BACKWARD"),
    ),
)
