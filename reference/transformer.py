"""Whole Transformers: encoder, encoder and decoder, language model, and decoding step by step."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from veriformer.reference.array_types import Array, Bool, Float64, Int
from veriformer.reference.blocks import STANDARD, KeysAndValues, Model, ModelConventions
from veriformer.reference.caches import DecodingCache, require_fitting_cache
from veriformer.reference.checks import as_positions, as_tokens
from veriformer.reference.configuration import TransformerConfiguration
from veriformer.reference.layers import keys_only, residual
from veriformer.reference.masks import causal_mask
from veriformer.reference.model_weights import HasTransformerWeights

Vectors = Float64[Array, "B L E"]


def encoder(
    tokens: Int[Array, "B L"],
    weights: HasTransformerWeights,
    config: TransformerConfiguration,
    *,
    padding_mask: Bool[Array, "B L"] | None = None,
    conventions: ModelConventions = STANDARD,
) -> Float64[Array, "B L E"]:
    """Let every token see all real ones, layer after layer.

    x = embed(tokens); x = layer(x) for each layer; y = final_norm(x) where there is one

    Positions count columns from 0, padded ones too. Rows at padded tokens have no meaning.

    Shapes: tokens (B, L), padding_mask (B, L), True at real tokens, to (B, L, E).
    Raises: ValueError when an array does not fit the configuration, or a sequence is longer than learned positions.
    Source: Devlin et al. 2019, section 3; Phuong & Hutter 2022, algorithm 9.
    Conventions: gelu_form, sinusoidal_layout, rotary_pairing, layer_norm_eps, rms_norm_gain.
    """
    model = Model(config, conventions)
    tokens = as_tokens("tokens", tokens)
    x = model.embed(tokens, weights.embedding, weights.positions, weights.embedding_norm)
    mask = keys_only(padding_mask, "padding_mask", *tokens.shape)
    for layer in weights.layers:
        x, _ = _layer(x, layer, model, mask)
    return model.normalise(x, weights.final_norm)


def encoder_decoder(
    source: Int[Array, "B S"],
    target: Int[Array, "B L"],
    weights: Any,
    config: TransformerConfiguration,
    *,
    source_padding_mask: Bool[Array, "B S"] | None = None,
    target_padding_mask: Bool[Array, "B L"] | None = None,
    conventions: ModelConventions = STANDARD,
) -> Float64[Array, "B L N"]:
    """Encode the source, and predict each next token of the target from those before it and from the source.

    m = encode(source); x = embed(target); x = decoder_layer(x, m) for each layer; logits = unembed(final_norm(x))

    Positions count columns from 0 in source and target, padded ones too. Rows at padded tokens have no meaning.

    Shapes: source (B, S), target (B, L), each padding mask as its tokens, `EncoderDecoderWeights`, to (B, L, N).
    Raises: ValueError when an array does not fit the configuration, or a sequence is longer than learned positions.
    Source: Vaswani et al. 2017, section 3; Phuong & Hutter 2022, algorithm 8; Lewis et al. 2020.
    Conventions: gelu_form, sinusoidal_layout, layer_norm_eps.
    """
    model = Model(config, conventions)
    source, target = as_tokens("source", source, "B S"), as_tokens("target", target)
    source_mask = keys_only(source_padding_mask, "source_padding_mask", *source.shape)
    x = model.embed(source, weights.embedding, weights.encoder_positions, weights.encoder_embedding_norm)
    for layer in weights.encoder_layers:
        x, _ = _layer(x, layer, model, source_mask)
    memory = model.normalise(x, weights.encoder_final_norm)

    y = model.embed(target, weights.embedding, weights.decoder_positions, weights.decoder_embedding_norm)
    mask = causal_and(target_padding_mask, "target_padding_mask", target)
    for layer in weights.decoder_layers:
        y = _decoder_layer(y, memory, layer, model, mask, source_mask)
    y = model.normalise(y, weights.decoder_final_norm)
    return model.unembed(y, weights.embedding, weights.unembedding)


def language_model(
    tokens: Int[Array, "B L"],
    weights: HasTransformerWeights,
    config: TransformerConfiguration,
    *,
    padding_mask: Bool[Array, "B L"] | None = None,
    conventions: ModelConventions = STANDARD,
) -> Float64[Array, "B L N"]:
    """Predict each next token from those before it.

    x = embed(tokens); x = layer(x), causal, for each layer; logits = unembed(final_norm(x))

    Positions count columns from 0, padded ones too: left padding changes the learned positions of the tokens behind it,
    while only differences of rotary positions matter. Rows at padded tokens have no meaning.

    Shapes: tokens (B, L), padding_mask (B, L), True at real tokens, to (B, L, N).
    Raises: ValueError when an array does not fit the configuration, or a sequence is longer than learned positions.
    Source: Radford et al. 2019, section 2.3; Touvron et al. 2023 (LLaMA), section 2.2; Phuong & Hutter 2022,
    algorithm 10.
    Conventions: gelu_form, rotary_pairing, sinusoidal_layout, layer_norm_eps, rms_norm_gain.
    """
    tokens = as_tokens("tokens", tokens)
    mask = _visible(padding_mask, "padding_mask", tokens)
    logits, _ = _continue(tokens, None, weights, Model(config, conventions), mask)
    return logits


def decode_step(
    tokens: Int[Array, "B T"],
    cache: DecodingCache | None,
    weights: HasTransformerWeights,
    config: TransformerConfiguration,
    *,
    positions: Int[Array, " T"] | Int[Array, "B T"] | None = None,
    padding_mask: Bool[Array, "B S"] | None = None,
    conventions: ModelConventions = STANDARD,
) -> tuple[Float64[Array, "B T N"], DecodingCache]:
    """Continue a sequence by some tokens, with the keys and values of those before from the cache.

    logits = language_model(all tokens so far)[last T]; cache None starts a sequence

    The cache is not changed: two continuations of one cache are independent. Positions continue from the
    cache's columns unless they are given; columns decide in either case which keys are later. Rows at padded tokens
    have no meaning.

    Shapes: tokens (B, T), positions (T,) or (B, T), padding_mask (B, S), True at real tokens, S the columns of cache
    and tokens together, to logits (B, T, N) and the cache that holds T tokens more.
    Raises: ValueError when an array does not fit the configuration, the cache is one of another batch or another
    model, a position is negative or beyond the learned ones, or the mask is not of all columns.
    Source: Shazeer 2019, section 2.4; Pope et al. 2022, section 2.1 (prefill and decode).
    Conventions: as `language_model`.
    """
    tokens = as_tokens("tokens", tokens)
    if cache is not None:
        require_fitting_cache(cache, len(tokens), len(weights.layers), config)
    start = 0 if cache is None else cache.length
    columns = np.broadcast_to(0, (len(tokens), start + tokens.shape[1]))
    visible = _visible(padding_mask, "padding_mask, of all columns so far,", columns)
    places = None if positions is None else as_positions(positions, tokens.shape)
    return _continue(tokens, cache, weights, Model(config, conventions), visible, places)


def _continue(
    tokens: Int[Array, "B T"],
    cache: DecodingCache | None,
    weights: HasTransformerWeights,
    model: Model,
    visible: Bool[Array, "#B 1 #L #S"],
    places: Int[Array, "*B T"] | None = None,
) -> tuple[Float64[Array, "B T N"], DecodingCache]:
    start = 0 if cache is None else cache.length
    places = np.arange(start, start + tokens.shape[1]) if places is None else places
    x = model.embed(tokens, weights.embedding, weights.positions, weights.embedding_norm, places=places)
    mask = _causal(tokens.shape[1], start) & visible
    known = []
    for number, layer in enumerate(weights.layers):
        past = None if cache is None else cache.layers[number]
        x, keys_and_values = _layer(x, layer, model, mask, past, places)
        known.append(keys_and_values)
    x = model.normalise(x, weights.final_norm)
    return model.unembed(x, weights.embedding, weights.unembedding), DecodingCache(tuple(known))


def _layer(
    x: Vectors,
    weights: Any,
    model: Model,
    mask: Any,
    past: KeysAndValues | None = None,
    places: Int[Array, "*B L"] | None = None,
) -> tuple[Vectors, KeysAndValues]:
    """Return a layer's result on x, and the keys and values that it saw."""
    known: list[KeysAndValues] = []
    first = model.config.norm_first
    turns = None
    if model.config.positions == "rotary":
        turns = np.arange(x.shape[1]) if places is None else places

    def attend(y: Vectors) -> Vectors:
        output, keys_and_values = model.attend(y, y, weights.self_attention, mask, past=past, places=turns)
        known.append(keys_and_values)
        return output

    x = residual(x, lambda y: model.normalise(y, weights.norm_1), attend, norm_first=first)
    x = residual(
        x,
        lambda y: model.normalise(y, weights.norm_2),
        lambda y: model.transform(y, weights.feed_forward),
        norm_first=first,
    )
    return x, known[0]


def _decoder_layer(
    x: Vectors, memory: Float64[Array, "B S E"], weights: Any, model: Model, mask: Any, memory_mask: Any
) -> Vectors:
    """Return the result of a decoder's layer on x and the memory."""
    first = model.config.norm_first
    sublayers = (
        (weights.norm_1, lambda y: model.attend(y, y, weights.self_attention, mask)[0]),
        (weights.norm_2, lambda y: model.attend(y, memory, weights.cross_attention, memory_mask)[0]),
        (weights.norm_3, lambda y: model.transform(y, weights.feed_forward)),
    )
    for norm, sublayer in sublayers:
        x = residual(x, partial(model.normalise, norm=norm), sublayer, norm_first=first)
    return x


def causal_and(padding_mask: Any, name: str, tokens: Int[Array, "B L"]) -> Bool[Array, "#B 1 L L"]:
    """Return a causal mask that hides padding too.

    Shapes: padding_mask (B, L), True at real tokens, or None, to (B, 1, L, L) or (1, 1, L, L).
    Raises: ValueError when it is not boolean, or has not the shape of the tokens.
    Source: Vaswani et al. 2017, section 3.2.3.
    """
    return np.asarray(_causal(tokens.shape[1], 0) & _visible(padding_mask, name, tokens))


def _causal(length: int, start: int) -> Bool[Array, "1 1 L S"]:
    return causal_mask(length, start + length, "bottom_right")[None, None]


def _visible(padding_mask: Any, name: str, tokens: Int[Array, "B L"]) -> Bool[Array, "#B 1 #L #S"]:
    mask = keys_only(padding_mask, name, *tokens.shape)
    return np.ones((1, 1, 1, 1), dtype=bool) if mask is None else mask
