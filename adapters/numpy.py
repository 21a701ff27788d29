"""The NumPy reference as an implementation: the suite checks itself against what it is judged by.

Every operation computes in double precision and returns the dtype that it was given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import is_dataclass
from functools import wraps
from inspect import signature
from typing import Any, TypeVar, cast

import numpy as np
from veriformer import reference
from veriformer.adapters.weights import convert_weights
from veriformer.reference import (
    alibi_bias,
    causal_mask,
    initial_weights,
    padding_mask,
    relative_position_bucket,
    sinusoidal_positions,
    warmup_cosine_learning_rate,
    warmup_inverse_root_learning_rate,
)

__all__ = [
    "alibi_bias",
    "causal_mask",
    "initial_weights",
    "padding_mask",
    "relative_position_bucket",
    "sinusoidal_positions",
    "warmup_cosine_learning_rate",
    "warmup_inverse_root_learning_rate",
]

framework = "numpy"
dtypes = ("float32", "float64")
conventions = {
    "mask_polarity": "true_attends",
    "causal_alignment": "top_left",
    "causal_with_mask": "intersect",
    "empty_row": "zeros",
    "masked_nonfinite": "ignored",
    "layout": "bhld",
    "window_counting": "inclusive",
    "softcap_order": "before_mask",
    "kv_grouping": "repeat_each",
    "rotary_pairing": "interleaved",
    "sinusoidal_layout": "interleaved",
    "layer_norm_eps": "inside_root",
    "rms_norm_gain": "gamma",
    "gelu_form": "erf",
    "adamw_eps": "after_correction",
    "adamw_decay": "times_learning_rate",
    "decayed_weights": "all",
    "clip_norm_eps": "none",
    "warmup_start": "zero",
    "initial_deviation": "fan_in",
    "initial_residual": "unscaled",
    "initial_bias": "zero",
    "softmax_dtype": "at_least_float32",
    "numerics": "fused",
}

Operation = TypeVar("Operation", bound=Callable[..., Any])


def _in_dtype_of(position: int, operation: Operation) -> Operation:
    """Return an operation of the reference whose results have the dtype of the argument at a position.

    The dtype of a whole model's weights is that of their embedding.
    """

    name = tuple(signature(operation).parameters)[position]

    @wraps(operation)
    def converted(*arguments: Any, **keywords: Any) -> Any:
        result = operation(*arguments, **keywords)
        given = arguments[position] if position < len(arguments) else keywords[name]
        dtype = getattr(given, "embedding", given).dtype
        return tuple(_as(dtype, part) for part in result) if isinstance(result, tuple) else _as(dtype, result)

    return cast(Operation, converted)


def _as(dtype: np.dtype, result: Any) -> Any:
    """Return a result in a dtype, a record with each of its arrays; a cache stays as it is."""
    if isinstance(result, np.ndarray | np.generic):
        return result.astype(dtype, copy=False)
    if is_dataclass(result) and not isinstance(result, reference.DecodingCache):
        return convert_weights(result, lambda array: array.astype(dtype, copy=False))
    return result


softmax = _in_dtype_of(0, reference.softmax)
softmax_backward = _in_dtype_of(0, reference.softmax_backward)
scaled_dot_product_attention = _in_dtype_of(0, reference.scaled_dot_product_attention)
grouped_query_attention = _in_dtype_of(0, reference.grouped_query_attention)
attention_weights = _in_dtype_of(0, reference.attention_weights)
attention_weights_backward = _in_dtype_of(0, reference.attention_weights_backward)
scaled_dot_product_attention_backward = _in_dtype_of(0, reference.scaled_dot_product_attention_backward)
attention_bias_backward = _in_dtype_of(0, reference.attention_bias_backward)
attention_sinks_backward = _in_dtype_of(0, reference.attention_sinks_backward)
grouped_query_attention_backward = _in_dtype_of(0, reference.grouped_query_attention_backward)
single_head_attention = _in_dtype_of(0, reference.single_head_attention)
multi_head_attention = _in_dtype_of(0, reference.multi_head_attention)
single_head_attention_backward = _in_dtype_of(0, reference.single_head_attention_backward)
multi_head_attention_backward = _in_dtype_of(0, reference.multi_head_attention_backward)
rotary_embedding = _in_dtype_of(0, reference.rotary_embedding)
rotary_embedding_backward = _in_dtype_of(0, reference.rotary_embedding_backward)
layer_norm = _in_dtype_of(0, reference.layer_norm)
layer_norm_backward = _in_dtype_of(0, reference.layer_norm_backward)
token_embedding = _in_dtype_of(1, reference.token_embedding)
token_embedding_backward = _in_dtype_of(1, reference.token_embedding_backward)
cross_entropy = _in_dtype_of(0, reference.cross_entropy)
cross_entropy_backward = _in_dtype_of(0, reference.cross_entropy_backward)
next_token_loss = _in_dtype_of(0, reference.next_token_loss)
next_token_loss_backward = _in_dtype_of(0, reference.next_token_loss_backward)
dropout = _in_dtype_of(0, reference.dropout)
dropout_backward = _in_dtype_of(0, reference.dropout_backward)
rms_norm = _in_dtype_of(0, reference.rms_norm)
rms_norm_backward = _in_dtype_of(0, reference.rms_norm_backward)
gelu = _in_dtype_of(0, reference.gelu)
silu = _in_dtype_of(0, reference.silu)
gelu_backward = _in_dtype_of(0, reference.gelu_backward)
silu_backward = _in_dtype_of(0, reference.silu_backward)
feed_forward = _in_dtype_of(0, reference.feed_forward)
gated_feed_forward = _in_dtype_of(0, reference.gated_feed_forward)
feed_forward_backward = _in_dtype_of(0, reference.feed_forward_backward)
gated_feed_forward_backward = _in_dtype_of(0, reference.gated_feed_forward_backward)
merge_attention = _in_dtype_of(0, reference.merge_attention)
merge_attention_backward = _in_dtype_of(0, reference.merge_attention_backward)
encoder_layer = _in_dtype_of(0, reference.encoder_layer)
decoder_layer = _in_dtype_of(0, reference.decoder_layer)
encoder_layer_backward = _in_dtype_of(0, reference.encoder_layer_backward)
decoder_layer_backward = _in_dtype_of(0, reference.decoder_layer_backward)
encoder = _in_dtype_of(1, reference.encoder)
encoder_decoder = _in_dtype_of(2, reference.encoder_decoder)
language_model = _in_dtype_of(1, reference.language_model)
decode_step = _in_dtype_of(2, reference.decode_step)
encoder_backward = _in_dtype_of(1, reference.encoder_backward)
encoder_decoder_backward = _in_dtype_of(2, reference.encoder_decoder_backward)
language_model_backward = _in_dtype_of(1, reference.language_model_backward)
adamw_step = _in_dtype_of(0, reference.adamw_step)
training_steps = _in_dtype_of(1, reference.training_steps)


def clip_by_global_norm(gradients: list[np.ndarray], *, max_norm: float) -> list[np.ndarray]:
    """Shrink all gradients by one factor where the norm of all of them together exceeds a bound."""
    clipped = reference.clip_by_global_norm(gradients, max_norm=max_norm)
    return [_as(given.dtype, array) for given, array in zip(gradients, clipped, strict=True)]
