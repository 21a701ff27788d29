"""The catalogue of laws. Each property is stated once, of all the operations it holds for."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from veriformer.spec.laws import (
    attention,
    backward,
    embedding,
    feed_forward,
    heads,
    interface,
    layers,
    loss,
    masking,
    masks,
    merging,
    models,
    normalisation,
    relative_positions,
    rotary,
    single_head,
    sinks,
    sinusoids,
    softcap,
    softmax,
    symmetry,
    windows,
)
from veriformer.spec.laws.law import LawStatement, Property, Tier, state

__all__ = ["LAWS", "LawStatement", "Property", "Tier"]

_PLAIN = "scaled_dot_product_attention"
_GROUPED = "grouped_query_attention"
_WEIGHTS = "attention_weights"
_SINGLE_HEAD = "single_head_attention"
_MULTI_HEAD = "multi_head_attention"
_BACKWARD = "scaled_dot_product_attention_backward"
_AVERAGING = (_PLAIN, _GROUPED)
_PER_HEAD = (_PLAIN, _GROUPED, _WEIGHTS)
_ATTENTION = (*_PER_HEAD, _MULTI_HEAD)
_ROTARY = "rotary_embedding"
_ALIBI = "alibi_bias"
_MERGE = "merge_attention"
_BUCKET = "relative_position_bucket"
_TRAINING = ("token_embedding", "cross_entropy")
_POSITION_WISE = ("rms_norm", "gelu", "silu", "feed_forward", "gated_feed_forward")
_LAYERS = ("encoder_layer", "decoder_layer")
_MODELS = ("encoder", "encoder_decoder", "language_model", "decode_step")
_BLACK_BOX = "model"
_COMPOSED = (*_LAYERS, *_MODELS, _BLACK_BOX)
_WITHOUT_EXAMPLES = (
    _SINGLE_HEAD,
    _GROUPED,
    _BACKWARD,
    _ROTARY,
    _ALIBI,
    _BUCKET,
    *_POSITION_WISE,
    *_TRAINING,
    _MERGE,
    *_COMPOSED,
)
_FLOAT = (
    "softmax",
    *_PER_HEAD,
    _BACKWARD,
    _MERGE,
    _SINGLE_HEAD,
    _MULTI_HEAD,
    "layer_norm",
    *_POSITION_WISE,
    _ROTARY,
    *_TRAINING,
    *_COMPOSED,
)
# Whole models decode in chains of calls, and a derived backward pass returns what its framework likes.
_WITHOUT_OWN_RESULT = (_BACKWARD, *_MODELS, _BLACK_BOX)
_ALL = (*_FLOAT, "causal_mask", "padding_mask", "sinusoidal_positions", _ALIBI, _BUCKET)

_COMMON_LOGIT_LAWS = (attention.SCALE, attention.SINGLE_KEY, attention.SINGLE_QUERY, attention.LARGE_LOGITS)
_PER_HEAD_LOGIT_LAWS = (
    attention.EXPLICIT_SCALE,
    attention.SCALE_RANGE,
    attention.EQUAL_KEYS,
    attention.FAINT_KEY,
    attention.BIAS_VALUE,
    attention.BIAS_ROW_SHIFT,
    attention.KEY_SHIFT,
    attention.COMPONENT_ORDER,
    masking.ADDITIVE,
    masking.LOW_LOGITS,
    masking.COMPOSITION,
)

_STATEMENTS = (
    *state(interface.EVERY_OPERATION, *_ALL),
    *state(interface.EVERY_FLOAT_OPERATION, *(name for name in _FLOAT if name != _BLACK_BOX)),
    *state(interface.EVERY_MODEL, _BLACK_BOX),
    *state((interface.RESULT_KEPT,), *(name for name in _FLOAT if name not in _WITHOUT_OWN_RESULT)),
    *state((interface.BOOLEAN,), "causal_mask", "padding_mask"),
    *state((interface.INPUTS_UNCHANGED, interface.MEMORY_LAYOUT), _BUCKET),
    # Of the others the seed documents have no numeric example.
    *state((interface.WORKED_EXAMPLES,), *(name for name in _ALL if name not in _WITHOUT_EXAMPLES)),
    *state(softmax.SOFTMAX_LAWS, "softmax"),
    *state(softmax.DISTRIBUTION, _WEIGHTS),
    *state(_COMMON_LOGIT_LAWS, *_ATTENTION),
    *state(_PER_HEAD_LOGIT_LAWS, *_PER_HEAD),
    *state(attention.VALUE_AVERAGES, *_AVERAGING),
    *state((masking.NO_SHARE,), *_AVERAGING),
    *state((attention.ALL_KEYS_TWICE, attention.VALUE_WIDTH), *_AVERAGING, _MULTI_HEAD),
    *state((*windows.WINDOW_LAWS, *softcap.SOFTCAP_LAWS, *sinks.SINK_LAWS), *_AVERAGING),
    *state((*windows.WINDOW_LAWS_OF_WEIGHTS, *softcap.SOFTCAP_LAWS_OF_WEIGHTS, *sinks.SINK_LAWS_OF_WEIGHTS), _WEIGHTS),
    *state(merging.MERGE_LAWS, _MERGE),
    *state(masking.MASK_LAWS, *_ATTENTION),
    *state(masking.CAUSAL_LAWS, *_ATTENTION),
    *state((*symmetry.SAMPLES, *symmetry.ORDER), *_ATTENTION),
    *state(symmetry.HEADS, *_PER_HEAD),
    *state(backward.BACKWARD_LAWS, _BACKWARD),
    *state(heads.GROUPED_LAWS, _GROUPED),
    *state(single_head.SINGLE_HEAD_LAWS, _SINGLE_HEAD),
    *state(heads.MULTI_HEAD_LAWS, _MULTI_HEAD),
    *state(masks.CAUSAL_MASK_LAWS, "causal_mask"),
    *state(masks.PADDING_MASK_LAWS, "padding_mask"),
    *state(sinusoids.SINUSOID_LAWS, "sinusoidal_positions"),
    *state(rotary.ROTARY_LAWS, _ROTARY),
    *state(relative_positions.ALIBI_LAWS, _ALIBI),
    *state(relative_positions.BUCKET_LAWS, _BUCKET),
    *state(normalisation.LAYER_NORM_LAWS, "layer_norm"),
    *state(normalisation.RMS_NORM_LAWS, "rms_norm"),
    *state(feed_forward.GELU_LAWS, "gelu"),
    *state(feed_forward.SILU_LAWS, "silu"),
    *state(feed_forward.FEED_FORWARD_LAWS, "feed_forward"),
    *state(feed_forward.GATED_LAWS, "gated_feed_forward"),
    *state(embedding.EMBEDDING_LAWS, "token_embedding"),
    *state(loss.CROSS_ENTROPY_LAWS, "cross_entropy"),
    *state(layers.ENCODER_LAYER_LAWS, "encoder_layer"),
    *state(layers.DECODER_LAYER_LAWS, "decoder_layer"),
    *state(symmetry.SAMPLES, *_MODELS, _BLACK_BOX),
    *state(models.ENCODER_LAWS, "encoder"),
    *state(models.ENCODER_DECODER_LAWS, "encoder_decoder"),
    *state(models.LANGUAGE_MODEL_LAWS, "language_model"),
    *state(models.DECODING_LAWS, "decode_step"),
    *state(models.MODEL_LAWS, _BLACK_BOX),
)


def _catalogue() -> dict[str, LawStatement]:
    order = {name: position for position, name in enumerate(_ALL)}
    laws = sorted(_STATEMENTS, key=lambda law: order[law.operation.name])
    if len({law.id for law in laws}) != len(laws):
        raise ValueError("two laws share an id")
    return {law.id: law for law in laws}


LAWS: Mapping[str, LawStatement] = MappingProxyType(_catalogue())
