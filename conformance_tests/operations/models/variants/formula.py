"""The families of whole Transformers: encoder, encoder and decoder, language model, and decoding step by step."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.embedding.variants import EMBEDDING
from veriformer.conformance_tests.operations.layers.variants.masks import (
    CAUSALITY,
    CONTEXT,
    ENCODER_MASK,
    MASKS_TOGETHER,
    MEMORY_MASK,
    MEMORY_PADDING,
    PADDING,
    Mask,
    memory_visible,
    own_visible,
)
from veriformer.conformance_tests.operations.layers.variants.placement import (
    norm_placement,
    norm_weights,
    residual,
    sublayer_outputs,
)
from veriformer.conformance_tests.operations.layers.variants.sublayers import (
    CROSS_ATTENTION,
    GATED_SILU_NETWORK,
    GELU_NETWORK,
    GROUPED_SELF_ATTENTION,
    SELF_ATTENTION,
)
from veriformer.conformance_tests.operations.models.variants.caches import (
    CACHE_WRITE,
    CAUSALITY_IN_CHAIN,
    EMPTY_SLOTS,
    PADDING_IN_CHAIN,
    POSITIONS_GIVEN,
    ROTARY_START,
    Seen,
)
from veriformer.conformance_tests.operations.models.variants.parts import (
    EMBEDDING_NORM,
    FINAL_NORM,
    LAYERS,
    POSITION_START,
    POSITION_START_IN_CHAIN,
    POSITIONS_ADDED,
    POSITIONS_IN_BLOCKS,
    SCALED_TIED_LOGITS,
    UNEMBEDDING,
    ModelAt,
)
from veriformer.conformance_tests.operations.normalisation.variants import LAYER_NORM, RMS_NORM
from veriformer.conformance_tests.operations.rotary.variants.formula import ROTARY
from veriformer.conformance_tests.operations.rotary.variants.rows import ROTARY_ROWS, TURNED_HEADS
from veriformer.conformance_tests.operations.sinusoids.variants import SINUSOIDS
from veriformer.conformance_tests.variants.family import Arguments, Family, Point


def encoder(arguments: Arguments, point: Point) -> Array:
    """Return the result of an encoder at a point of its family."""
    model, weights, tokens = ModelAt(arguments["config"], point), arguments["weights"], arguments["tokens"]
    x = model.embed(tokens, weights.embedding, weights.positions, weights.embedding_norm)
    visible = _encoder_visible(point, "padding", arguments.get("padding_mask"), tokens.shape[1])
    return _encoded(model, x, weights.layers, weights.positions, visible)


def encoder_decoder(arguments: Arguments, point: Point) -> Array:
    """Return the logits of an encoder-decoder at a point of its family."""
    model, weights = ModelAt(arguments["config"], point), arguments["weights"]
    source, target = arguments["source"], arguments["target"]
    source_padding, padding = arguments.get("source_padding_mask"), arguments.get("target_padding_mask")
    x = model.embed(source, weights.embedding, weights.encoder_positions, weights.encoder_embedding_norm)
    seen_by_encoder = _encoder_visible(point, "source_padding", source_padding, source.shape[1])
    memory = _encoded(model, x, weights.encoder_layers, weights.encoder_positions, seen_by_encoder)
    memory = model.normalise(memory, weights.encoder_final_norm)

    y = model.embed(target, weights.embedding, weights.decoder_positions, weights.decoder_embedding_norm)
    visible = own_visible(point, padding, target.shape[1])
    seen = memory_visible(point, source_padding, padding, target.shape[1], source.shape[1])
    for layer in point["layers"](weights.decoder_layers):
        y = _decoder_layer(model, y, memory, layer, visible, seen)
    y = model.normalise(y, weights.decoder_final_norm)
    return model.unembed(y, weights.embedding, weights.unembedding)


def language_model(arguments: Arguments, point: Point) -> Array:
    """Return the logits of a language model at a point of its family."""
    visible = own_visible(point, arguments.get("padding_mask"), arguments["tokens"].shape[1])
    call = _Call(ModelAt(arguments["config"], point), arguments["weights"], arguments["tokens"], visible)
    return call.logits()


def decode_steps(arguments: Arguments, point: Point) -> Array:
    """Return the logits of a chain of calls at a point of the family, one call after the other."""
    model, weights = ModelAt(arguments["config"], point), arguments["weights"]
    steps, calls, logits = arguments["steps"], list[_Chained](), []
    for step in steps:
        before = None if step.after is None else calls[step.after]
        past = 0 if before is None else before.length
        prompt = steps[0].tokens.shape[1] if past else 0
        visible = own_visible(point, step.keywords.get("padding_mask"), step.tokens.shape[1], past=past)
        given = step.keywords.get("positions")
        places = None if given is None else point["positions_given"](given, past)
        call = _Chained(model, weights, step.tokens, visible, places, past=past, before=before, prompt=prompt, kept=[])
        calls.append(call)
        logits.append(call.logits())
    return np.concatenate(logits, axis=1)


@dataclass(frozen=True)
class _Call:
    """One call of a language model."""

    model: ModelAt
    weights: Any
    tokens: Array
    visible: Mask
    places: Array | None = None
    past: int = 0

    def logits(self) -> Array:
        model, weights = self.model, self.weights
        x = model.embed(
            self.tokens,
            weights.embedding,
            weights.positions,
            weights.embedding_norm,
            start=self.past,
            places=self.places,
        )
        for number, layer in enumerate(model.point["layers"](weights.layers)):
            x = self._layer(x, layer, number)
        x = model.normalise(x, model.point["final_norm"](weights.final_norm))
        return model.unembed(x, weights.embedding, weights.unembedding)

    def _layer(self, x: Array, layer: Any, number: int) -> Array:
        model = self.model

        def between(query: Array, key: Array, value: Array) -> tuple[Array, Array, Array, Mask]:
            if model.config.positions == "rotary":
                query, key = model.point["rotary_rows"](query, key, number)
            query, seen = self.attended_with(query, key, value, number)
            return query, seen.key, seen.value, seen.visible

        return model.layer(
            x,
            (layer.norm_1, layer.norm_2),
            [
                ("self_attention", lambda y: model.attend(y, y, layer.self_attention, between=between)),
                ("feed_forward", lambda y: model.transform(y, layer.feed_forward)),
            ],
        )

    def attended_with(self, query: Array, key: Array, value: Array, number: int) -> tuple[Array, Seen]:
        """Return the query and the context that it attends to in a layer."""
        query, key, value = self.turned(query, key, value, 0)
        return query, Seen(key, value, self.visible)

    def turned(self, query: Array, key: Array, value: Array, start: int) -> tuple[Array, Array, Array]:
        """Return heads, those that are to be turned by the positions from `start` on, where positions are rotary."""
        is_turned = self.model.point["turned_heads"]
        if self.model.config.positions != "rotary":
            return query, key, value
        return (
            self._turned(query, start) if is_turned("query") else query,
            self._turned(key, start) if is_turned("key") else key,
            self._turned(value, start) if is_turned("value") else value,
        )

    def _turned(self, heads: Array, start: int) -> Array:
        config = self.model.config
        positions = np.arange(start, start + heads.shape[2]) if self.places is None else self.places
        return self.model.point.part("rotary").result({"x": heads, "positions": positions, "base": config.rotary_base})


@dataclass(frozen=True)
class _Chained(_Call):
    """One call of a chain: the next one starts from what it `kept`."""

    before: _Chained | None = None
    prompt: int = 0
    kept: list[tuple[Array, Array]] = field(default_factory=list)

    @property
    def length(self) -> int:
        """How many tokens the next call takes for past."""
        return int(self.kept[0][0].shape[2] if self.kept else self.past + self.tokens.shape[1])

    def attended_with(self, query: Array, key: Array, value: Array, number: int) -> tuple[Array, Seen]:
        point = self.model.point
        start = point["rotary_start"](self.past, query.shape[2], number, self.prompt)
        query, key, value = self.turned(query, key, value, start)
        if self.before is not None:
            old_key, old_value = self.before.kept[number]
            key, value = np.concatenate([old_key, key], axis=2), np.concatenate([old_value, value], axis=2)
        write = point["cache_write"]
        self.kept.append((write(key, self.past), write(value, self.past)))
        room = self.model.config.max_length
        return query, point["empty_slots"](Seen(key, value, self.visible), self.past, room)


def _encoder_visible(point: Point, decision: str, padding: Mask, length: int) -> Mask:
    visible: Mask = point["encoder_mask"](point[decision](padding, length), padding, length)
    return visible


def _encoded(model: ModelAt, x: Array, layers: Any, positions: Array | None, visible: Mask) -> Array:
    for number, layer in enumerate(model.point["layers"](layers)):
        x = _encoder_layer(model, _with_positions(model, x, positions, number), layer, visible)
    return x


def _with_positions(model: ModelAt, x: Array, positions: Array | None, number: int) -> Array:
    if not model.point["positions_in_blocks"](number):
        return x
    rows = model.position_rows(positions, x.shape[1])
    return x if rows is None else x + rows[: x.shape[1]]


def _encoder_layer(model: ModelAt, x: Array, layer: Any, visible: Mask) -> Array:
    return model.layer(
        x,
        (layer.norm_1, layer.norm_2),
        [
            ("self_attention", lambda y: model.attend(y, y, layer.self_attention, visible)),
            ("feed_forward", lambda y: model.transform(y, layer.feed_forward)),
        ],
    )


def _decoder_layer(model: ModelAt, x: Array, memory: Array, layer: Any, visible: Mask, seen: Mask) -> Array:
    def look_up(y: Array) -> Array:
        context, mask = model.point["context"](y, memory, lambda m: model.normalise(m, layer.norm_2), visible, seen)
        return model.attend(y, context, layer.cross_attention, mask)

    return model.layer(
        x,
        (layer.norm_1, layer.norm_2, layer.norm_3),
        [
            ("self_attention", lambda y: model.attend(y, y, layer.self_attention, visible)),
            ("cross_attention", look_up),
            ("feed_forward", lambda y: model.transform(y, layer.feed_forward)),
        ],
    )


_POST_NORM = (norm_placement(pre_norm=False, post_norm=True), residual(flag=False))
_PRE_NORM = (norm_placement(pre_norm=True, post_norm=False), residual(flag=False))
_TWO_SUBLAYERS = (norm_weights(2), sublayer_outputs("self_attention", "feed_forward"))
_PARTS = {"attention": SELF_ATTENTION, "norms": LAYER_NORM, "feed_forward": GELU_NETWORK, "embedding": EMBEDDING}
_LANGUAGE_PARTS = {
    **_PARTS,
    "attention": GROUPED_SELF_ATTENTION,
    "rms_norm": RMS_NORM,
    "gated_feed_forward": GATED_SILU_NETWORK,
    "rotary": ROTARY.without("turned", "which_turn"),
}

ENCODER = Family(
    "encoder",
    (
        POSITIONS_ADDED,
        POSITION_START,
        EMBEDDING_NORM,
        PADDING,
        ENCODER_MASK,
        LAYERS,
        POSITIONS_IN_BLOCKS,
        *_POST_NORM,
        *_TWO_SUBLAYERS,
    ),
    encoder,
    _PARTS,
)
ENCODER_DECODER = Family(
    "encoder_decoder",
    (
        POSITIONS_ADDED,
        POSITION_START,
        EMBEDDING_NORM,
        replace(PADDING, name="source_padding", question="What does the source's padding mask hide in the encoder?"),
        ENCODER_MASK,
        # A target is padded on the right only, which cannot be misread.
        PADDING.without("padding_taken_for_right_padding"),
        CAUSALITY,
        MASKS_TOGETHER,
        MEMORY_PADDING,
        MEMORY_MASK,
        CONTEXT,
        LAYERS,
        POSITIONS_IN_BLOCKS,
        *_POST_NORM,
        norm_weights(3),
        sublayer_outputs("self_attention", "cross_attention", "feed_forward"),
        SCALED_TIED_LOGITS,
    ),
    encoder_decoder,
    {**_PARTS, "attention": CROSS_ATTENTION, "sinusoids": SINUSOIDS},
)
LANGUAGE_MODEL = Family(
    "language_model",
    (
        POSITIONS_ADDED,
        POSITION_START,
        PADDING,
        CAUSALITY,
        MASKS_TOGETHER,
        LAYERS,
        *_PRE_NORM,
        *_TWO_SUBLAYERS,
        ROTARY_ROWS,
        TURNED_HEADS,
        FINAL_NORM,
        UNEMBEDDING,
    ),
    language_model,
    _LANGUAGE_PARTS,
)
DECODE_STEP = Family(
    "decode_step",
    (
        POSITIONS_ADDED,
        POSITION_START_IN_CHAIN,
        POSITIONS_GIVEN,
        ROTARY_START,
        PADDING_IN_CHAIN,
        CAUSALITY_IN_CHAIN,
        MASKS_TOGETHER,
        CACHE_WRITE,
        EMPTY_SLOTS,
        LAYERS,
        *_PRE_NORM,
        *_TWO_SUBLAYERS,
        ROTARY_ROWS,
        TURNED_HEADS,
        FINAL_NORM,
        UNEMBEDDING,
    ),
    decode_steps,
    _LANGUAGE_PARTS,
)
