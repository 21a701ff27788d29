"""The reference: NumPy in double precision, each function with its formula. It computes the operations of
`veriformer.spec` and knows no implementation. Row vectors (y = x W), batch first, heads second; a boolean mask is True
where a query may attend.
"""

from veriformer.reference.activations import activate, gelu, relu, silu
from veriformer.reference.activations_backward import activate_backward, gelu_backward, silu_backward
from veriformer.reference.adamw import adamw_step
from veriformer.reference.additions_backward import attention_bias_backward, attention_sinks_backward
from veriformer.reference.attention import (
    attention_logits,
    attention_weights,
    scaled_dot_product_attention,
    visible_keys,
    weighted_sum,
)
from veriformer.reference.attention_backward import (
    attention_weights_backward,
    gradient_of_logits,
    scaled_dot_product_attention_backward,
)
from veriformer.reference.blocked import blocked_attention
from veriformer.reference.blocks import KeysAndValues, ModelConventions
from veriformer.reference.caches import DecodingCache
from veriformer.reference.clipping import clip_by_global_norm
from veriformer.reference.configuration import TransformerConfiguration, configure
from veriformer.reference.dropout import dropout, dropout_backward, dropout_mask, kept_entries
from veriformer.reference.embedding import token_embedding
from veriformer.reference.embedding_backward import token_embedding_backward
from veriformer.reference.feed_forward import feed_forward, gated_feed_forward
from veriformer.reference.feed_forward_backward import feed_forward_backward, gated_feed_forward_backward
from veriformer.reference.grouped_query import grouped_query_attention
from veriformer.reference.grouped_query_backward import grouped_query_attention_backward
from veriformer.reference.initialisation import bias_inputs, initial_variance, initial_weights
from veriformer.reference.layer_weights import DecoderLayerWeights, EncoderLayerWeights, NormWeights
from veriformer.reference.layers import decoder_layer, encoder_layer
from veriformer.reference.layers_backward import decoder_layer_backward, encoder_layer_backward
from veriformer.reference.loss import cross_entropy
from veriformer.reference.loss_backward import cross_entropy_backward
from veriformer.reference.masks import causal_mask, padding_mask
from veriformer.reference.merging import attention_over_part, merge_attention
from veriformer.reference.merging_backward import merge_attention_backward
from veriformer.reference.model_weights import (
    EncoderDecoderWeights,
    GainWeights,
    GatedLayerWeights,
    TransformerWeights,
    parameter_count,
    weight_tree,
)
from veriformer.reference.multi_head import merge_heads, multi_head_attention, split_heads
from veriformer.reference.multi_head_backward import multi_head_attention_backward, single_head_attention_backward
from veriformer.reference.next_token import next_token_loss, next_token_loss_backward
from veriformer.reference.normalisation import layer_norm, rms_norm
from veriformer.reference.normalisation_backward import layer_norm_backward, rms_norm_backward
from veriformer.reference.positions import sinusoidal_frequencies, sinusoidal_positions
from veriformer.reference.relative_positions import alibi_bias, alibi_slopes, relative_position_bucket
from veriformer.reference.rotary import pair_places, rotary_embedding, rotary_frequencies
from veriformer.reference.rotary_backward import rotary_embedding_backward
from veriformer.reference.schedules import warmup_cosine_learning_rate, warmup_inverse_root_learning_rate
from veriformer.reference.single_head import SingleHeadWeights, single_head_attention
from veriformer.reference.sinks import softmax_beside_sinks, weights_of_sinks
from veriformer.reference.softcap import soft_cap, soft_cap_slope
from veriformer.reference.softmax import log_sum_exp, masked_softmax, softmax
from veriformer.reference.softmax_backward import softmax_backward
from veriformer.reference.training import training_steps
from veriformer.reference.transformer import decode_step, encoder, encoder_decoder, language_model
from veriformer.reference.transformer_backward import (
    encoder_backward,
    encoder_decoder_backward,
    language_model_backward,
)
from veriformer.reference.weights import FeedForwardWeights, GatedFeedForwardWeights, MultiHeadWeights
from veriformer.reference.windows import window_mask, within_window

__all__ = [
    "DecoderLayerWeights",
    "DecodingCache",
    "EncoderDecoderWeights",
    "EncoderLayerWeights",
    "FeedForwardWeights",
    "GainWeights",
    "GatedFeedForwardWeights",
    "GatedLayerWeights",
    "KeysAndValues",
    "ModelConventions",
    "MultiHeadWeights",
    "NormWeights",
    "SingleHeadWeights",
    "TransformerConfiguration",
    "TransformerWeights",
    "activate",
    "activate_backward",
    "adamw_step",
    "alibi_bias",
    "alibi_slopes",
    "attention_bias_backward",
    "attention_logits",
    "attention_over_part",
    "attention_sinks_backward",
    "attention_weights",
    "attention_weights_backward",
    "bias_inputs",
    "blocked_attention",
    "causal_mask",
    "clip_by_global_norm",
    "configure",
    "cross_entropy",
    "cross_entropy_backward",
    "decode_step",
    "decoder_layer",
    "decoder_layer_backward",
    "dropout",
    "dropout_backward",
    "dropout_mask",
    "encoder",
    "encoder_backward",
    "encoder_decoder",
    "encoder_decoder_backward",
    "encoder_layer",
    "encoder_layer_backward",
    "feed_forward",
    "feed_forward_backward",
    "gated_feed_forward",
    "gated_feed_forward_backward",
    "gelu",
    "gelu_backward",
    "gradient_of_logits",
    "grouped_query_attention",
    "grouped_query_attention_backward",
    "initial_variance",
    "initial_weights",
    "kept_entries",
    "language_model",
    "language_model_backward",
    "layer_norm",
    "layer_norm_backward",
    "log_sum_exp",
    "masked_softmax",
    "merge_attention",
    "merge_attention_backward",
    "merge_heads",
    "multi_head_attention",
    "multi_head_attention_backward",
    "next_token_loss",
    "next_token_loss_backward",
    "padding_mask",
    "pair_places",
    "parameter_count",
    "relative_position_bucket",
    "relu",
    "rms_norm",
    "rms_norm_backward",
    "rotary_embedding",
    "rotary_embedding_backward",
    "rotary_frequencies",
    "scaled_dot_product_attention",
    "scaled_dot_product_attention_backward",
    "silu",
    "silu_backward",
    "single_head_attention",
    "single_head_attention_backward",
    "sinusoidal_frequencies",
    "sinusoidal_positions",
    "soft_cap",
    "soft_cap_slope",
    "softmax",
    "softmax_backward",
    "softmax_beside_sinks",
    "split_heads",
    "token_embedding",
    "token_embedding_backward",
    "training_steps",
    "visible_keys",
    "warmup_cosine_learning_rate",
    "warmup_inverse_root_learning_rate",
    "weight_tree",
    "weighted_sum",
    "weights_of_sinks",
    "window_mask",
    "within_window",
]
