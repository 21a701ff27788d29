"""The families of the gradients of an encoder, of an encoder-decoder and of a language model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.embedding_backward.variants import EMBEDDING_BACKWARD
from veriformer.conformance_tests.operations.feed_forward_backward.variants import (
    FEED_FORWARD_BACKWARD,
    GATED_FEED_FORWARD_BACKWARD,
    matrix_sum,
)
from veriformer.conformance_tests.operations.layers.variants.masks import (
    CAUSALITY,
    ENCODER_MASK,
    MASKS_TOGETHER,
    MEMORY_MASK,
    MEMORY_PADDING,
    PADDING,
    Mask,
    memory_visible,
    own_visible,
)
from veriformer.conformance_tests.operations.layers_backward.variants import (
    AROUND,
    FORGOTTEN,
    INTO_SUBLAYER,
    MEMORY,
    PATHS,
    RESIDUAL,
    THREE_SUBLAYERS,
    THROUGH_NORM,
    TWO_SUBLAYERS,
    Part,
    Sublayer,
    after,
    at_one_sublayer,
    back_through,
    streams_of,
)
from veriformer.conformance_tests.operations.models_backward.variants.parts import (
    BETWEEN_LAYERS,
    INTO_EMBEDDING,
    LAST_NORM,
    LAYERS,
    MEMORY_SUM,
    POSITIONS,
    RETURNED,
    SINUSOIDAL_LAYOUT,
    TABLE,
    TABLE_OF_TWO,
    UNEMBEDDING,
    ModelBackwardAt,
    of_one_placement,
)
from veriformer.conformance_tests.operations.multi_head_backward.variants import MULTI_HEAD_BACKWARD
from veriformer.conformance_tests.operations.normalisation_backward.variants import (
    LAYER_NORM_BACKWARD,
    RMS_NORM_BACKWARD,
)
from veriformer.conformance_tests.operations.rotary_backward.variants import ROTARY_BACKWARD
from veriformer.conformance_tests.variants.decision import Decision
from veriformer.conformance_tests.variants.family import Arguments, Family, Point

Layers = list[list[Sublayer]]
# The gradients of one sublayer's weights and of its norm's.
OfSublayer = list[Array]


def _joined(parts: Iterable[Any]) -> Array:
    return np.concatenate([np.asarray(part).ravel() for part in parts])


def _layer(at: ModelBackwardAt, weights: Any, visible: Mask) -> list[Sublayer]:
    functions = at.attention(weights.self_attention, visible), at.network(weights.feed_forward)
    return _normed(at, TWO_SUBLAYERS, (weights.norm_1, weights.norm_2), functions)


def _decoder_layer(at: ModelBackwardAt, weights: Any, visible: Mask, memory: Array, seen: Mask) -> list[Sublayer]:
    functions = (
        at.attention(weights.self_attention, visible),
        at.attention(weights.cross_attention, seen, memory),
        at.network(weights.feed_forward),
    )
    return _normed(at, THREE_SUBLAYERS, (weights.norm_1, weights.norm_2, weights.norm_3), functions)


def _normed(
    at: ModelBackwardAt, names: Sequence[str], norms: Sequence[Any], functions: Sequence[Part]
) -> list[Sublayer]:
    return [
        Sublayer(name, at.norm(norm, name), function)
        for name, norm, function in zip(names, norms, functions, strict=True)
    ]


class _Stack:
    """A stack of layers at a point, run forwards: what the sublayers of each layer read, and what the last returns."""

    def __init__(self, at: ModelBackwardAt, x: Array, layers: Layers) -> None:
        self.at, self.layers = at, layers
        self.streams: list[list[Array]] = []
        for layer in layers:
            self.streams.append(streams_of(x, layer, at.config.norm_first))
            x = after(self.streams[-1][-1], layer[-1], at.config.norm_first)
        self.result = x

    def back(self, gradient: Array) -> tuple[Array, list[list[OfSublayer]]]:
        """Return the gradients of what the first layer reads and of each sublayer's weights, layer by layer."""
        point, found = self.at.point, []
        for number in reversed(range(len(self.layers))):
            first = self.at.config.norm_first
            gradient, of_layer = back_through(self.streams[number], self.layers[number], gradient, first, point)
            found.append(of_layer)
            gradient = point["between_layers"](gradient) if number else gradient
        return gradient, found[::-1]


def _flat(point: Point, of_layers: Sequence[Sequence[OfSublayer]]) -> list[Array]:
    """Return the gradients of the layers' weights in the order of their paths."""
    layers = [[one for of_sublayer in of_layer for one in of_sublayer] for of_layer in of_layers]
    return [one for layer in point["layers"](layers) for one in layer]


def encoder_backward(arguments: Arguments, point: Point) -> Array:
    """Return the gradients of an encoder's weights at a point of its family, one after the other."""
    padding, tokens = arguments.get("padding_mask"), arguments["tokens"]
    return _one_stack(arguments, point, _encoder_visible(point, "padding", padding, tokens.shape[1]))


def language_model_backward(arguments: Arguments, point: Point) -> Array:
    """Return the gradients of a language model's weights at a point of its family, one after the other."""
    visible = own_visible(point, arguments.get("padding_mask"), arguments["tokens"].shape[1])
    return _one_stack(arguments, point, visible, with_logits=True)


def _one_stack(arguments: Arguments, point: Point, visible: Mask, *, with_logits: bool = False) -> Array:
    at, weights, tokens = ModelBackwardAt(arguments["config"], point), arguments["weights"], arguments["tokens"]
    tables = weights.embedding, weights.positions, weights.embedding_norm
    stack = _Stack(at, at.embed(tokens, *tables), [_layer(at, layer, visible) for layer in weights.layers])
    last, gradient = at.norm(weights.final_norm, is_last=True), np.asarray(arguments["grad_output"])
    tied: Array | None = None
    of_unembedding: list[Array] = []
    if with_logits:
        y = last.forward(stack.result)
        gradient, tied, of_unembedding = at.logits_back(y, weights.embedding, weights.unembedding, gradient)
    gradient, of_last = last.backward(stack.result, gradient)
    gradient, of_layers = stack.back(gradient)
    of_table, of_positions, of_norm = at.embedded_back(tokens, *tables, gradient)
    table = point["table"]([of_table], tied) if with_logits else of_table
    parts = [table, *of_positions, *of_norm, *_flat(point, of_layers), *of_last, *of_unembedding]
    return np.asarray(point["returned"](_joined(parts), tokens))


def _encoder_visible(point: Point, decision: str, padding: Mask, length: int) -> Mask:
    visible: Mask = point["encoder_mask"](point[decision](padding, length), padding, length)
    return visible


def _half(weights: Any, which: str) -> Any:
    """Return the weights of the encoder or of the decoder as those of a stack by itself."""
    names = ("positions", "embedding_norm", "layers", "final_norm")
    return SimpleNamespace(**{name: getattr(weights, f"{which}_{name}") for name in names})


def encoder_decoder_backward(arguments: Arguments, point: Point) -> Array:
    """Return the gradients of an encoder-decoder's weights at a point of its family, one after the other."""
    at, weights = ModelBackwardAt(arguments["config"], point), arguments["weights"]
    source, target = arguments["source"], arguments["target"]
    source_padding, padding = arguments.get("source_padding_mask"), arguments.get("target_padding_mask")
    encoding, decoding = _half(weights, "encoder"), _half(weights, "decoder")
    read = weights.embedding, encoding.positions, encoding.embedding_norm
    heard = _encoder_visible(point, "source_padding", source_padding, source.shape[1])
    encoder = _Stack(at, at.embed(source, *read), [_layer(at, layer, heard) for layer in encoding.layers])
    encoder_last = at.norm(encoding.final_norm, is_last=True)
    memory = encoder_last.forward(encoder.result)

    visible = own_visible(point, padding, target.shape[1])
    seen = memory_visible(point, source_padding, padding, target.shape[1], source.shape[1])
    written = weights.embedding, decoding.positions, decoding.embedding_norm
    layers = [_decoder_layer(at, layer, visible, memory, seen) for layer in decoding.layers]
    decoder = _Stack(at, at.embed(target, *written), layers)
    decoder_last = at.norm(decoding.final_norm, is_last=True)

    y, gradient = decoder_last.forward(decoder.result), np.asarray(arguments["grad_output"])
    gradient, tied, of_unembedding = at.logits_back(y, weights.embedding, weights.unembedding, gradient)
    gradient, of_decoder_last = decoder_last.backward(decoder.result, gradient)
    gradient, of_decoder = decoder.back(gradient)
    of_target = at.embedded_back(target, *written, gradient)
    of_memory = point["memory_sum"]([of_cross.pop(0) for _, of_cross, _ in reversed(of_decoder)])
    gradient, of_encoder_last = encoder_last.backward(encoder.result, of_memory)
    gradient, of_encoder = encoder.back(gradient)
    of_source = at.embedded_back(source, *read, gradient)
    parts = [
        point["table"]([of_source[0], of_target[0]], tied),
        *(*of_source[1], *of_target[1], *of_source[2], *of_target[2]),
        *(*_flat(point, of_encoder), *_flat(point, of_decoder)),
        *(*of_encoder_last, *of_decoder_last, *of_unembedding),
    ]
    return np.asarray(point["returned"](_joined(parts), target))


def _only(family: Family, *names: str) -> Family:
    """Return a family with these decisions, the others at their standard options."""
    return family.without(*(decision.name for decision in family.decisions if decision.name not in names))


# A context without any gradient is a path of the stream that is lost, or a memory without gradient.
_WITHIN = MULTI_HEAD_BACKWARD.without("into_context=none")
_PARTS = {
    "attention": _WITHIN.without("shared_heads"),
    "norms": LAYER_NORM_BACKWARD.without("returned=twice"),
    "feed_forward": FEED_FORWARD_BACKWARD.without("residual"),
    "embedding": EMBEDDING_BACKWARD,
}
_LANGUAGE_PARTS = {
    **_PARTS,
    "attention": _WITHIN,
    "rms_norm": RMS_NORM_BACKWARD.without("returned=twice"),
    "gated_feed_forward": GATED_FEED_FORWARD_BACKWARD.without("residual"),
    # What a hand-written way back gets wrong; what both passes have in common is the forward pass's.
    "rotary": _only(ROTARY_BACKWARD, "rotary_pairing", "turn", "passed"),
}


def _stack(sublayers: Sequence[str]) -> tuple[Decision, ...]:
    """Return the decisions of a stack of layers with these sublayers; the norms of a model have one place."""
    residual, into_sublayer, through_norm = map(of_one_placement, (RESIDUAL, INTO_SUBLAYER, THROUGH_NORM))
    return (
        *(POSITIONS, INTO_EMBEDDING, BETWEEN_LAYERS, LAYERS, RETURNED, PATHS),
        at_one_sublayer(residual, FORGOTTEN, sublayers),
        at_one_sublayer(into_sublayer, "gradient_cut_off", sublayers),
        at_one_sublayer(through_norm, "norm_backward_skipped", sublayers),
    )


_LOGITS = matrix_sum("unembedding")
# A target is padded on the right only, which cannot be misread, and causality hides that padding from all real tokens.
_TARGET_PADDING = (
    PADDING.without("padding_taken_for_right_padding")
    .without("padding_mask_ignored")
    .without("padding_mask_on_query_axis")
)
ENCODER_BACKWARD = Family(
    "encoder_backward", (*_stack(TWO_SUBLAYERS), AROUND, PADDING, ENCODER_MASK), encoder_backward, _PARTS
)
ENCODER_DECODER_BACKWARD = Family(
    "encoder_decoder_backward",
    (
        *_stack(THREE_SUBLAYERS),
        AROUND,
        TABLE_OF_TWO,
        _LOGITS,
        MEMORY,
        MEMORY_SUM,
        replace(PADDING, name="source_padding", question="What does the source's padding mask hide in the encoder?"),
        ENCODER_MASK,
        _TARGET_PADDING,
        CAUSALITY,
        MASKS_TOGETHER,
        MEMORY_PADDING,
        MEMORY_MASK,
        SINUSOIDAL_LAYOUT,
    ),
    encoder_decoder_backward,
    _PARTS,
)
LANGUAGE_MODEL_BACKWARD = Family(
    "language_model_backward",
    (*_stack(TWO_SUBLAYERS), TABLE, _LOGITS, UNEMBEDDING, LAST_NORM, PADDING, CAUSALITY, MASKS_TOGETHER),
    language_model_backward,
    _LANGUAGE_PARTS,
)
