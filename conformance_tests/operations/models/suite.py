"""The suites of whole Transformers and of decoding."""

from __future__ import annotations

from dataclasses import replace

from veriformer.conformance_tests.core.suite import Suite
from veriformer.conformance_tests.operations.models.cases import ModelCase, ModelSpace, model_cases, suited
from veriformer.conformance_tests.operations.models.decoding_inputs import DecodingInputs
from veriformer.conformance_tests.operations.models.inputs import TokenInputs, TranslationInputs
from veriformer.conformance_tests.operations.models.rarities import DECODING, ENCODER, ENCODER_DECODER, LANGUAGE_MODEL

_ORDINARY = ModelCase("", 2, 4, 4, 2, 1, 3, 1, 5, palette="normal")
_VARIANTS = "veriformer.conformance_tests.operations.models.variants.formula"
SUITES = (
    Suite(
        "encoder",
        space=lambda how: ModelSpace(padding=how),
        draw=model_cases,
        inputs=TokenInputs,
        weight=39,
        ordinary=_ORDINARY,
        rarities=ENCODER,
        suited=suited,
        variants=(_VARIANTS, "ENCODER"),
    ),
    Suite(
        "encoder_decoder",
        space=lambda how: ModelSpace(padding=how, source_padding=how),
        draw=model_cases,
        inputs=TranslationInputs,
        weight=80,
        ordinary=replace(_ORDINARY, source_length=3),
        rarities=ENCODER_DECODER,
        suited=suited,
        variants=(_VARIANTS, "ENCODER_DECODER"),
    ),
    Suite(
        "language_model",
        space=lambda how: ModelSpace(padding=how),
        draw=model_cases,
        inputs=TokenInputs,
        weight=40,
        ordinary=_ORDINARY,
        rarities=LANGUAGE_MODEL,
        suited=suited,
        variants=(_VARIANTS, "LANGUAGE_MODEL"),
    ),
    Suite(
        "decode_step",
        space=lambda how: ModelSpace(cuts="any", padding=how, positions=how),
        draw=model_cases,
        inputs=DecodingInputs,
        weight=66,
        ordinary=_ORDINARY,
        rarities=DECODING,
        suited=suited,
        variants=(_VARIANTS, "DECODE_STEP"),
    ),
)
