"""The backward passes of whole Transformers: the gradients of all their weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from veriformer.reference.array_types import Array, Bool, Float, Float64, Int
from veriformer.reference.blocks import STANDARD, Model, ModelConventions
from veriformer.reference.blocks_backward import ModelBackward
from veriformer.reference.checks import as_grad_output, as_tokens
from veriformer.reference.configuration import TransformerConfiguration
from veriformer.reference.layers import keys_only
from veriformer.reference.model_weights import EncoderDecoderWeights, HasTransformerWeights, TransformerWeights
from veriformer.reference.sublayers_backward import (
    Memory,
    Passed,
    Stream,
    decoder_layer_back,
    through_decoder_layer,
    through_encoder_layer,
)
from veriformer.reference.transformer import causal_and

_OF_A_HALF = ("positions", "embedding_norm", "layers", "final_norm")


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
    mask = keys_only(padding_mask, "padding_mask", *tokens.shape)
    way = _way(parts, tokens, weights, mask)
    return _stack_backward(parts, tokens, weights, way, as_grad_output(grad_output, way.end.shape))


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
    _, back = language_model_and_back(tokens, weights, config, padding_mask=padding_mask, conventions=conventions)
    return back(grad_output)


def language_model_and_back(
    tokens: Int[Array, "B L"],
    weights: HasTransformerWeights,
    config: TransformerConfiguration,
    *,
    padding_mask: Bool[Array, "B L"] | None = None,
    conventions: ModelConventions = STANDARD,
) -> tuple[Float64[Array, "B L N"], Callable[[Float[Array, "B L N"]], TransformerWeights]]:
    """Return the logits of a language model, and what leads their gradient back to the weights, as a training step
    needs both: the way forward is gone once.

    Shapes: tokens and padding_mask (B, L), to (B, L, N) and the function that takes grad_output (B, L, N) to a record
    of the weights' shapes.
    Raises: ValueError as `language_model` does; the function when grad_output has not the shape of the logits.
    Source: as `language_model_backward`.
    Conventions: those of `language_model`.
    """
    parts = ModelBackward(Model(config, conventions))
    tokens = as_tokens("tokens", tokens)
    way = _way(parts, tokens, weights, causal_and(padding_mask, "padding_mask", tokens))
    y = parts.model.normalise(way.end, weights.final_norm)

    def back(grad_output: Float[Array, "B L N"]) -> TransformerWeights:
        gradient = as_grad_output(grad_output, (*tokens.shape, config.vocabulary_size))
        of_y, of_table, of_unembedding = parts.unembed(y, weights.embedding, weights.unembedding, gradient)
        found = _stack_backward(parts, tokens, weights, way, of_y)
        table = found.embedding if of_table is None else np.asarray(found.embedding + of_table)
        return TransformerWeights(
            table, found.positions, found.embedding_norm, found.layers, found.final_norm, of_unembedding
        )

    return parts.model.unembed(y, weights.embedding, weights.unembedding), back


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
    source, target = as_tokens("source", source, "B S"), as_tokens("target", target)
    seen = keys_only(source_padding_mask, "source_padding_mask", *source.shape)
    own = causal_and(target_padding_mask, "target_padding_mask", target)
    encoding, decoding = _half(weights, "encoder"), _half(weights, "decoder")
    read = _way(parts, source, encoding, seen)
    memory = parts.model.normalise(read.end, encoding.final_norm)
    written = _way(parts, target, decoding, own, (memory, seen))
    last = parts.model.normalise(written.end, decoding.final_norm)
    gradient = as_grad_output(grad_output, (*target.shape, config.vocabulary_size))
    of_last, of_tied, of_unembedding = parts.unembed(last, weights.embedding, weights.unembedding, gradient)
    of_memory, of_decoder = _decoder_backward(parts, target, decoding, written, memory, of_last)
    of_encoder = _stack_backward(parts, source, encoding, read, of_memory)
    table = of_encoder.embedding + of_decoder.embedding + (0.0 if of_tied is None else of_tied)
    halves: dict[str, Any] = {
        f"{which}_{name}": getattr(found, name)
        for which, found in (("encoder", of_encoder), ("decoder", of_decoder))
        for name in _OF_A_HALF
    }
    return EncoderDecoderWeights(embedding=np.asarray(table), unembedding=of_unembedding, **halves)


def _half(weights: Any, which: str) -> HasTransformerWeights:
    """Return the weights of the encoder or of the decoder as those of a stack by itself."""
    own = {name: getattr(weights, f"{which}_{name}") for name in _OF_A_HALF}
    return SimpleNamespace(embedding=weights.embedding, unembedding=None, **own)


@dataclass(frozen=True)
class _Way:
    """The layers that a stream has passed, each by its sublayers, and what the last of them returned."""

    layers: list[list[Passed]]
    end: Stream


def _way(
    parts: ModelBackward,
    tokens: Int[Array, "B L"],
    weights: Any,
    mask: Any,
    memory_and_mask: tuple[Memory, Any] | None = None,
) -> _Way:
    """Return how tokens pass the layers of a stack, to what the final norm reads."""
    x = parts.model.embed(tokens, weights.embedding, weights.positions, weights.embedding_norm)
    layers = []
    for layer in weights.layers:
        if memory_and_mask is None:
            layers.append(through_encoder_layer(parts, x, layer, mask))
        else:
            memory, seen = memory_and_mask
            layers.append(through_decoder_layer(parts, x, memory, layer, (mask, seen)))
        x = layers[-1][-1].result()
    return _Way(layers, x)


def _stack_backward(
    parts: ModelBackward, tokens: Int[Array, "B L"], weights: Any, way: _Way, gradient: Stream
) -> TransformerWeights:
    """Return the gradients of a stack's weights, given that of what its final norm returns; none of the logits'."""
    of_x, final_norm = parts.norm(weights.final_norm).backward(way.end, gradient)
    layers = []
    for passed in reversed(way.layers):
        of_x, of_layer = parts.layer_back(passed, of_x)
        layers.append(of_layer)
    of_tables = parts.embed(tokens, weights.embedding, weights.positions, weights.embedding_norm, of_x)
    return TransformerWeights(of_tables.table, of_tables.positions, of_tables.norm, layers[::-1], final_norm, None)


def _decoder_backward(
    parts: ModelBackward,
    tokens: Int[Array, "B L"],
    weights: HasTransformerWeights,
    way: _Way,
    memory: Memory,
    gradient: Stream,
) -> tuple[Memory, TransformerWeights]:
    """Return the gradients of the memory and of a decoder's weights, given that of what its final norm returns."""
    of_y, final_norm = parts.norm(weights.final_norm).backward(way.end, gradient)
    of_memory = np.zeros_like(memory)
    layers = []
    for passed in reversed(way.layers):
        of_y, through, of_layer = decoder_layer_back(passed, of_y)
        of_memory = of_memory + through
        layers.append(of_layer)
    of_tables = parts.embed(tokens, weights.embedding, weights.positions, weights.embedding_norm, of_y)
    found = TransformerWeights(of_tables.table, of_tables.positions, of_tables.norm, layers[::-1], final_norm, None)
    return of_memory, found
