"""How long a law of each operation takes, roughly: what is long is begun first, so that all workers end together."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from veriformer.conformance_tests.law import Law

# Milliseconds of a law in `veriformer check numpy`; only their proportions matter, and no verdict depends on them.
_WEIGHTS: Mapping[str, int] = MappingProxyType(
    {
        "softmax": 11,
        "scaled_dot_product_attention": 45,
        "grouped_query_attention": 42,
        "attention_weights": 30,
        "scaled_dot_product_attention_backward": 62,
        "merge_attention": 25,
        "single_head_attention": 25,
        "multi_head_attention": 62,
        "causal_mask": 5,
        "padding_mask": 6,
        "sinusoidal_positions": 10,
        "rotary_embedding": 20,
        "alibi_bias": 11,
        "relative_position_bucket": 10,
        "layer_norm": 14,
        "rms_norm": 12,
        "gelu": 12,
        "silu": 11,
        "feed_forward": 15,
        "gated_feed_forward": 18,
        "token_embedding": 11,
        "cross_entropy": 19,
        "encoder_layer": 47,
        "decoder_layer": 64,
        "encoder": 39,
        "encoder_decoder": 80,
        "language_model": 40,
        "decode_step": 66,
        "model": 40,
    }
)
_OF_ANOTHER_OPERATION = 30


def weight(law: Law) -> int:
    """Return the time that a law is expected to take, in a unit of its own."""
    return _WEIGHTS.get(law.statement.operation.name, _OF_ANOTHER_OPERATION)
