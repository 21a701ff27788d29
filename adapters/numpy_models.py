"""The NumPy reference of whole Transformers as part of an implementation; each returns the dtype of its weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from veriformer import reference
from veriformer.reference.model_weights import HasTransformerWeights


def encoder(
    tokens: np.ndarray,
    weights: HasTransformerWeights,
    config: reference.TransformerConfiguration,
    *,
    padding_mask: np.ndarray | None = None,
) -> np.ndarray:
    """Let every token see all real ones, layer after layer."""
    result = reference.encoder(tokens, weights, config, padding_mask=padding_mask)
    return _as_weights(weights, result)


def encoder_decoder(
    source: np.ndarray,
    target: np.ndarray,
    weights: Any,
    config: reference.TransformerConfiguration,
    *,
    source_padding_mask: np.ndarray | None = None,
    target_padding_mask: np.ndarray | None = None,
) -> np.ndarray:
    """Predict each next token of a target from those before it and from a source."""
    result = reference.encoder_decoder(
        source,
        target,
        weights,
        config,
        source_padding_mask=source_padding_mask,
        target_padding_mask=target_padding_mask,
    )
    return _as_weights(weights, result)


def language_model(
    tokens: np.ndarray,
    weights: HasTransformerWeights,
    config: reference.TransformerConfiguration,
    *,
    padding_mask: np.ndarray | None = None,
) -> np.ndarray:
    """Predict each next token from those before it."""
    result = reference.language_model(tokens, weights, config, padding_mask=padding_mask)
    return _as_weights(weights, result)


def decode_step(
    tokens: np.ndarray,
    cache: reference.DecodingCache | None,
    weights: HasTransformerWeights,
    config: reference.TransformerConfiguration,
    *,
    positions: np.ndarray | None = None,
    padding_mask: np.ndarray | None = None,
) -> tuple[np.ndarray, reference.DecodingCache]:
    """Continue a sequence by some tokens, with the keys and values of those before."""
    logits, extended = reference.decode_step(
        tokens, cache, weights, config, positions=positions, padding_mask=padding_mask
    )
    return _as_weights(weights, logits), extended


def _as_weights(weights: Any, result: np.ndarray) -> np.ndarray:
    """Return the result in the dtype of the weights."""
    return result.astype(weights.embedding.dtype, copy=False)
