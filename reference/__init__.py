"""The reference: NumPy in double precision, each function beside its formula.

It computes what `veriformer.spec` states and knows no implementation. Row vectors (y = x W), batch first, heads
second; a boolean mask is True where a query may attend.
"""

from veriformer.reference.activations import activate, gelu, relu, silu
from veriformer.reference.attention import (
    attention_logits,
    attention_weights,
    scaled_dot_product_attention,
    visible_keys,
    weighted_sum,
)
from veriformer.reference.feed_forward import feed_forward, gated_feed_forward
from veriformer.reference.grouped_query import grouped_query_attention
from veriformer.reference.masks import causal_mask, padding_mask
from veriformer.reference.multi_head import merge_heads, multi_head_attention, split_heads
from veriformer.reference.normalisation import layer_norm, rms_norm
from veriformer.reference.positions import sinusoidal_frequencies, sinusoidal_positions
from veriformer.reference.softmax import masked_softmax, softmax
from veriformer.reference.weights import FeedForwardWeights, GatedFeedForwardWeights, MultiHeadWeights

__all__ = [
    "FeedForwardWeights",
    "GatedFeedForwardWeights",
    "MultiHeadWeights",
    "activate",
    "attention_logits",
    "attention_weights",
    "causal_mask",
    "feed_forward",
    "gated_feed_forward",
    "gelu",
    "grouped_query_attention",
    "layer_norm",
    "masked_softmax",
    "merge_heads",
    "multi_head_attention",
    "padding_mask",
    "relu",
    "rms_norm",
    "scaled_dot_product_attention",
    "silu",
    "sinusoidal_frequencies",
    "sinusoidal_positions",
    "softmax",
    "split_heads",
    "visible_keys",
    "weighted_sum",
]
