"""The backward passes of whole Transformers: the gradients of all their weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from veriformer.reference.array_types import Array, Bool, Float, Float64, Int
from veriformer.reference.blocks import STANDARD, Model, ModelConventions
from veriformer.reference.blocks_backward import ModelBackward
from veriformer.reference.checks import as_grad_output, as_tokens
from veriformer.reference.configuration import TransformerConfiguration
from veriformer.reference.model_weights import EncoderDecoderWeights, HasTransformerWeights, TransformerWeights
from veriformer.reference.sublayers_backward import Stream
from veriformer.reference.transformer import causal_and, keys_of_tokens, one_decoder_layer, one_layer


def encoder_backward(
    tokens: Int[Array, "B L"],
    weights: HasTransformerWeights,
    config: TransformerConfiguration,
    grad_output: Float[Array, "B L E"],
    *,
    padding_mask: Bool[Array, "B L"] | None = None,
    conventions: ModelConventions = STANDARD,
) -> TransformerWeights:
    """Trace the gradient of a loss from an encoder's vectors back to all its weights.

    From the final norm to the embedding, layer by layer: g ← layer_backward(x_k, g). The table of the tokens gets the
    sum over the places of each token, that of the positions the sum over the samples.

    Shapes: tokens and padding_mask (B, L), grad_output (B, L, E), to a record of the weights' shapes, None where there
    is no array.
    Raises: ValueError as `encoder` does, and when grad_output has not the shape of the result.
    Source: Devlin et al. 2019, section 3, differentiated.
    Conventions: those of `encoder`. Rows at padded tokens have no meaning: their gradient is 0 in any loss that heeds
    the mask.
    """
    parts = ModelBackward(Model(config, conventions))
    tokens = as_tokens("tokens", tokens)
    streams = _streams(parts, tokens, weights, keys_of_tokens(padding_mask, "padding_mask", tokens))
    gradient = as_grad_output(grad_output, streams[-1].shape)
    mask = keys_of_tokens(padding_mask, "padding_mask", tokens)
    return _stack_backward(parts, tokens, weights, mask, streams, gradient)


def language_model_backward(
    tokens: Int[Array, "B L"],
    weights: HasTransformerWeights,
    config: TransformerConfiguration,
    grad_output: Float[Array, "B L N"],
    *,
    padding_mask: Bool[Array, "B L"] | None = None,
    conventions: ModelConventions = STANDARD,
) -> TransformerWeights:
    """Trace the gradient of a loss from a language model's logits back to all its weights.

    As `encoder_backward`, under a causal mask, from the logits z = y W: dy = dz Wᵀ, dW = Σ yᵀ dz. A table that is tied
    to the logits gets the gradients of both of its uses, which add up.

    Shapes: tokens and padding_mask (B, L), grad_output (B, L, N), to a record of the weights' shapes, None where there
    is no array.
    Raises: ValueError as `language_model` does, and when grad_output has not the shape of the logits.
    Source: Radford et al. 2019, section 2.3; Touvron et al. 2023 (LLaMA), section 2.2, differentiated.
    Conventions: those of `language_model`.
    """
    parts = ModelBackward(Model(config, conventions))
    tokens = as_tokens("tokens", tokens)
    mask = causal_and(padding_mask, "padding_mask", tokens)
    streams = _streams(parts, tokens, weights, mask)
    y = parts.model.normalise(streams[-1], weights.final_norm)
    gradient = as_grad_output(grad_output, (*tokens.shape, config.vocabulary_size))
    of_y, of_table, of_unembedding = parts.unembed(y, weights.embedding, weights.unembedding, gradient)
    found = _stack_backward(parts, tokens, weights, mask, streams, of_y)
    table = found.embedding if of_table is None else np.asarray(found.embedding + of_table)
    return TransformerWeights(
        table, found.positions, found.embedding_norm, found.layers, found.final_norm, of_unembedding
    )


def encoder_decoder_backward(
    source: Int[Array, "B S"],
    target: Int[Array, "B L"],
    weights: Any,
    config: TransformerConfiguration,
    grad_output: Float[Array, "B L N"],
    *,
    source_padding_mask: Bool[Array, "B S"] | None = None,
    target_padding_mask: Bool[Array, "B L"] | None = None,
    conventions: ModelConventions = STANDARD,
) -> EncoderDecoderWeights:
    """Trace the gradient of a loss from an encoder-decoder's logits back to all its weights.

    Every layer of the decoder reads the memory, so that its gradients from all layers add up before they go back
    through the encoder. The table that source and target share, and the logits where tied, adds up all its uses.

    Shapes: source (B, S), target (B, L), each padding mask as its tokens, grad_output (B, L, N), to a record of the
    weights' shapes, None where there is no array.
    Raises: ValueError as `encoder_decoder` does, and when grad_output has not the shape of the logits.
    Source: Vaswani et al. 2017, section 3, differentiated.
    Conventions: those of `encoder_decoder`.
    """
    parts = ModelBackward(Model(config, conventions))
    model = parts.model
    source, target = as_tokens("source", source, "B S"), as_tokens("target", target)
    seen = keys_of_tokens(source_padding_mask, "source_padding_mask", source)
    own = causal_and(target_padding_mask, "target_padding_mask", target)
    read = [model.embed(source, weights.embedding, weights.encoder_positions, weights.encoder_embedding_norm)]
    for layer in weights.encoder_layers:
        read.append(one_layer(read[-1], layer, model, seen))
    memory = model.normalise(read[-1], weights.encoder_final_norm)
    written = [model.embed(target, weights.embedding, weights.decoder_positions, weights.decoder_embedding_norm)]
    for layer in weights.decoder_layers:
        written.append(one_decoder_layer(written[-1], memory, layer, model, own, seen))

    gradient = as_grad_output(grad_output, (*target.shape, config.vocabulary_size))
    last = model.normalise(written[-1], weights.decoder_final_norm)
    of_last, of_tied, of_unembedding = parts.unembed(last, weights.embedding, weights.unembedding, gradient)
    of_y, decoder_final_norm = parts.norm(weights.decoder_final_norm).backward(written[-1], of_last)
    of_memory = np.zeros_like(memory)
    decoder_layers = []
    for layer, y in zip(reversed(weights.decoder_layers), reversed(written[:-1]), strict=True):
        of_y, through, of_layer = parts.decoder_layer(y, memory, layer, (own, seen), of_y)
        of_memory = of_memory + through
        decoder_layers.append(of_layer)
    of_target = parts.embed(target, weights.embedding, weights.decoder_positions, weights.decoder_embedding_norm, of_y)
    of_x, encoder_final_norm = parts.norm(weights.encoder_final_norm).backward(read[-1], of_memory)
    of_x, encoder_layers = _layers_backward(parts, weights.encoder_layers, read, seen, of_x)
    of_source = parts.embed(source, weights.embedding, weights.encoder_positions, weights.encoder_embedding_norm, of_x)
    table = of_source.table + of_target.table + (0.0 if of_tied is None else of_tied)
    return EncoderDecoderWeights(
        embedding=np.asarray(table),
        encoder_positions=of_source.positions,
        decoder_positions=of_target.positions,
        encoder_embedding_norm=of_source.norm,
        decoder_embedding_norm=of_target.norm,
        encoder_layers=encoder_layers,
        decoder_layers=decoder_layers[::-1],
        encoder_final_norm=encoder_final_norm,
        decoder_final_norm=decoder_final_norm,
        unembedding=of_unembedding,
    )


def _streams(parts: ModelBackward, tokens: Int[Array, "B L"], weights: Any, mask: Any) -> list[Stream]:
    """Return what each layer reads, and last what the final norm does."""
    model = parts.model
    streams = [model.embed(tokens, weights.embedding, weights.positions, weights.embedding_norm)]
    for layer in weights.layers:
        streams.append(one_layer(streams[-1], layer, model, mask))
    return streams


def _stack_backward(
    parts: ModelBackward,
    tokens: Int[Array, "B L"],
    weights: Any,
    mask: Any,
    streams: Sequence[Stream],
    gradient: Stream,
) -> TransformerWeights:
    """Return the gradients of a stack's weights, given that of what its final norm returns; none of the logits'."""
    of_x, final_norm = parts.norm(weights.final_norm).backward(streams[-1], gradient)
    of_x, layers = _layers_backward(parts, weights.layers, streams, mask, of_x)
    of_tables = parts.embed(tokens, weights.embedding, weights.positions, weights.embedding_norm, of_x)
    return TransformerWeights(of_tables.table, of_tables.positions, of_tables.norm, layers, final_norm, None)


def _layers_backward(
    parts: ModelBackward, layers: Sequence[Any], streams: Sequence[Stream], mask: Any, gradient: Stream
) -> tuple[Float64[Array, "B L E"], list[Any]]:
    found = []
    for layer, x in zip(reversed(layers), reversed(streams[:-1]), strict=True):
        gradient, of_layer = parts.layer(x, layer, mask, gradient)
        found.append(of_layer)
    return gradient, found[::-1]
