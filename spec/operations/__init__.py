"""The catalogue of operations: the interface document, the listings and the reports are drawn from it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from veriformer.spec.operations.attention import (
    ATTENTION_WEIGHTS,
    GROUPED_QUERY_ATTENTION,
    SCALED_DOT_PRODUCT_ATTENTION,
    SOFTMAX,
)
from veriformer.spec.operations.backward import SCALED_DOT_PRODUCT_ATTENTION_BACKWARD
from veriformer.spec.operations.feed_forward import FEED_FORWARD, GATED_FEED_FORWARD, GELU, SILU
from veriformer.spec.operations.heads import MULTI_HEAD_ATTENTION, SINGLE_HEAD_ATTENTION
from veriformer.spec.operations.layers import DECODER_LAYER, ENCODER_LAYER
from veriformer.spec.operations.masks import CAUSAL_MASK, PADDING_MASK
from veriformer.spec.operations.merging import MERGE_ATTENTION
from veriformer.spec.operations.models import DECODE_STEP, ENCODER, ENCODER_DECODER, LANGUAGE_MODEL, MODEL
from veriformer.spec.operations.normalisation import LAYER_NORM, RMS_NORM
from veriformer.spec.operations.operation import Kind, Operation, Parameter, Requirement
from veriformer.spec.operations.positions import (
    ALIBI_BIAS,
    RELATIVE_POSITION_BUCKET,
    ROTARY_EMBEDDING,
    SINUSOIDAL_POSITIONS,
)
from veriformer.spec.operations.training import CROSS_ENTROPY, TOKEN_EMBEDDING

__all__ = ["OPERATIONS", "Kind", "Operation", "Parameter", "Requirement"]

_CATALOGUE = (
    SOFTMAX,
    SCALED_DOT_PRODUCT_ATTENTION,
    GROUPED_QUERY_ATTENTION,
    ATTENTION_WEIGHTS,
    SCALED_DOT_PRODUCT_ATTENTION_BACKWARD,
    SINGLE_HEAD_ATTENTION,
    MULTI_HEAD_ATTENTION,
    CAUSAL_MASK,
    PADDING_MASK,
    SINUSOIDAL_POSITIONS,
    ROTARY_EMBEDDING,
    ALIBI_BIAS,
    RELATIVE_POSITION_BUCKET,
    LAYER_NORM,
    TOKEN_EMBEDDING,
    CROSS_ENTROPY,
    RMS_NORM,
    GELU,
    SILU,
    FEED_FORWARD,
    GATED_FEED_FORWARD,
    MERGE_ATTENTION,
    ENCODER_LAYER,
    DECODER_LAYER,
    ENCODER,
    ENCODER_DECODER,
    LANGUAGE_MODEL,
    DECODE_STEP,
    MODEL,
)

OPERATIONS: Mapping[str, Operation] = MappingProxyType({operation.name: operation for operation in _CATALOGUE})
