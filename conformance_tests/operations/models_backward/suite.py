"""The suites of the gradients of whole Transformers."""

from __future__ import annotations

from dataclasses import replace

from veriformer.conformance_tests.core.suite import Suite
from veriformer.conformance_tests.operations.models.cases import ModelCase, ModelSpace, model_cases, suited
from veriformer.conformance_tests.operations.models_backward.inputs import (
    TokenBackwardInputs,
    TranslationBackwardInputs,
)
from veriformer.conformance_tests.operations.models_backward.rarities import ENCODER, ENCODER_DECODER, LANGUAGE_MODEL

_VARIANTS = "veriformer.conformance_tests.operations.models_backward.variants.formula"
_ORDINARY = ModelCase("", 2, 4, 4, 2, 1, 3, 1, 5, palette="normal")
SUITES = (
    Suite(
        "encoder_backward",
        space=lambda how: ModelSpace(padding=how),
        draw=model_cases,
        inputs=TokenBackwardInputs,
        weight=120,
        ordinary=_ORDINARY,
        rarities=ENCODER,
        suited=suited,
        variants=(_VARIANTS, "ENCODER_BACKWARD"),
    ),
    Suite(
        "encoder_decoder_backward",
        space=lambda how: ModelSpace(padding=how, source_padding=how),
        draw=model_cases,
        inputs=TranslationBackwardInputs,
        weight=240,
        ordinary=replace(_ORDINARY, source_length=3),
        rarities=ENCODER_DECODER,
        suited=suited,
        variants=(_VARIANTS, "ENCODER_DECODER_BACKWARD"),
    ),
    Suite(
        "language_model_backward",
        space=lambda how: ModelSpace(padding=how),
        draw=model_cases,
        inputs=TokenBackwardInputs,
        weight=120,
        ordinary=_ORDINARY,
        rarities=LANGUAGE_MODEL,
        suited=suited,
        variants=(_VARIANTS, "LANGUAGE_MODEL_BACKWARD"),
    ),
)
