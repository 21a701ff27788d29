"""Regions of the gradients of whole Transformers."""

from __future__ import annotations

from typing import Any

from veriformer.conformance_tests.drawing.region import Region, among

_ENCODER_DECODER = ("encoder_decoder_backward",)
_ONE_STACK = ("encoder_backward", "language_model_backward")
_MODELS = (*_ONE_STACK, *_ENCODER_DECODER)


def _tokens(given: Any) -> Any:
    return given.tokens if hasattr(given, "tokens") else given.target


def _has_token_zero(given: Any) -> bool:
    return bool((_tokens(given) == 0).any())


REGIONS = (
    *among(
        _MODELS,
        ("gradients of several samples of a model", "Samples whose gradients add up.", lambda c: c.batch > 1),
        ("gradients of several tokens of a model", "Tokens that see others.", lambda c: c.length > 1),
        ("gradients of a padded model", "Tokens that are no part of the loss.", lambda c: c.padding != "none"),
        ("gradients of two layers", "A gradient that passes through a layer to another.", lambda c: c.layers > 1),
    ),
    Region(
        "the first token of the vocabulary", "A row that programs take for padding.", _MODELS, inputs=_has_token_zero
    ),
)
