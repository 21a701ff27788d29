"""The NumPy reference as an implementation: the suite checks itself against what it is judged by.

Every operation computes in double precision and returns the dtype that it was given.
"""

from __future__ import annotations

import numpy as np
from veriformer import reference
from veriformer.adapters.numpy_models import decode_step, encoder, encoder_decoder, language_model
from veriformer.reference.conventions import Activation
from veriformer.reference.layer_weights import HasDecoderLayerWeights, HasEncoderLayerWeights
from veriformer.reference.loss import Reduction
from veriformer.reference.single_head import HasSingleHeadWeights
from veriformer.reference.weights import HasFeedForwardWeights, HasGatedFeedForwardWeights, HasMultiHeadWeights
from veriformer.reference.windows import Window

__all__ = ["decode_step", "encoder", "encoder_decoder", "language_model"]

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
    "softmax_dtype": "at_least_float32",
    "numerics": "fused",
}


def softmax(x: np.ndarray) -> np.ndarray:
    """Turn each row of logits into a probability distribution."""
    return _like(x, reference.softmax(x))


def scaled_dot_product_attention(
    query: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
    *,
    mask: np.ndarray | None = None,
    bias: np.ndarray | None = None,
    is_causal: bool = False,
    scale: float | None = None,
    window: tuple[int | None, int | None] | None = None,
    softcap: float | None = None,
    sinks: np.ndarray | None = None,
) -> np.ndarray:
    """Average the values, weighted by how well each key matches the query."""
    result = reference.scaled_dot_product_attention(
        query,
        key,
        value,
        mask=mask,
        bias=bias,
        is_causal=is_causal,
        scale=scale,
        window=window,
        softcap=softcap,
        sinks=sinks,
    )
    return _like(query, result)


def grouped_query_attention(
    query: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
    *,
    mask: np.ndarray | None = None,
    bias: np.ndarray | None = None,
    is_causal: bool = False,
    scale: float | None = None,
    window: tuple[int | None, int | None] | None = None,
    softcap: float | None = None,
    sinks: np.ndarray | None = None,
) -> np.ndarray:
    """Attend with several query heads to each key/value head."""
    result = reference.grouped_query_attention(
        query,
        key,
        value,
        mask=mask,
        bias=bias,
        is_causal=is_causal,
        scale=scale,
        window=window,
        softcap=softcap,
        sinks=sinks,
    )
    return _like(query, result)


def attention_weights(
    query: np.ndarray,
    key: np.ndarray,
    *,
    mask: np.ndarray | None = None,
    bias: np.ndarray | None = None,
    is_causal: bool = False,
    scale: float | None = None,
    window: Window | None = None,
    softcap: float | None = None,
    sinks: np.ndarray | None = None,
) -> np.ndarray:
    """Compute the weights with which attention averages the values."""
    result = reference.attention_weights(
        query,
        key,
        mask=mask,
        bias=bias,
        is_causal=is_causal,
        scale=scale,
        window=window,
        softcap=softcap,
        sinks=sinks,
    )
    return _like(query, result)


def scaled_dot_product_attention_backward(
    query: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
    grad_output: np.ndarray,
    *,
    mask: np.ndarray | None = None,
    is_causal: bool = False,
    scale: float | None = None,
) -> tuple[np.ndarray, ...]:
    """Trace the gradient of a loss from the output of attention back to queries, keys and values."""
    gradients = reference.scaled_dot_product_attention_backward(
        query, key, value, grad_output, mask=mask, is_causal=is_causal, scale=scale
    )
    return tuple(_like(query, gradient) for gradient in gradients)


def single_head_attention(
    x: np.ndarray, weights: HasSingleHeadWeights, *, mask: np.ndarray | None = None
) -> np.ndarray:
    """Attend from every position to every position that it may see, in one learned subspace."""
    return _like(x, reference.single_head_attention(x, weights, mask=mask))


def multi_head_attention(
    x: np.ndarray,
    context: np.ndarray,
    weights: HasMultiHeadWeights,
    *,
    num_heads: int,
    num_kv_heads: int | None = None,
    mask: np.ndarray | None = None,
    is_causal: bool = False,
) -> np.ndarray:
    """Attend in several learned subspaces at once and mix what each head found."""
    result = reference.multi_head_attention(
        x, context, weights, num_heads=num_heads, num_kv_heads=num_kv_heads, mask=mask, is_causal=is_causal
    )
    return _like(x, result)


def causal_mask(query_length: int, key_length: int) -> np.ndarray:
    """Show each query the keys that do not come after it."""
    return reference.causal_mask(query_length, key_length)


def padding_mask(lengths: np.ndarray, max_length: int) -> np.ndarray:
    """Mark the real tokens of sequences that are padded on the right."""
    return reference.padding_mask(lengths, max_length)


def sinusoidal_positions(length: int, d_model: int) -> np.ndarray:
    """Encode each position as the phases of d_model/2 clocks."""
    return reference.sinusoidal_positions(length, d_model)


def rotary_embedding(
    x: np.ndarray, positions: np.ndarray, *, base: float = 10000.0, rotary_dim: int | None = None
) -> np.ndarray:
    """Turn each pair of components by an angle proportional to the position."""
    return _like(x, reference.rotary_embedding(x, positions, base=base, rotary_dim=rotary_dim))


def alibi_bias(num_heads: int, query_length: int, key_length: int) -> np.ndarray:
    """Let the logits fall linearly with the distance, in each head at a slope of its own."""
    return reference.alibi_bias(num_heads, query_length, key_length)


def relative_position_bucket(
    relative_position: np.ndarray,
    *,
    bidirectional: bool = True,
    num_buckets: int = 32,
    max_distance: int = 128,
) -> np.ndarray:
    """Sort relative positions into buckets."""
    return reference.relative_position_bucket(
        relative_position, bidirectional=bidirectional, num_buckets=num_buckets, max_distance=max_distance
    )


def layer_norm(x: np.ndarray, gamma: np.ndarray, beta: np.ndarray, *, eps: float) -> np.ndarray:
    """Bring each vector to zero mean and unit variance, then scale and shift it."""
    return _like(x, reference.layer_norm(x, gamma, beta, eps=eps))


def token_embedding(tokens: np.ndarray, table: np.ndarray, *, scale_by_sqrt_d_model: bool = False) -> np.ndarray:
    """Look up the vector of each token."""
    return _like(table, reference.token_embedding(tokens, table, scale_by_sqrt_d_model=scale_by_sqrt_d_model))


def cross_entropy(
    logits: np.ndarray,
    targets: np.ndarray,
    *,
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    reduction: Reduction = "mean",
) -> np.ndarray:
    """Average how improbable the model found the tokens that came, add that up, or return each."""
    loss = reference.cross_entropy(
        logits, targets, ignore_index=ignore_index, label_smoothing=label_smoothing, reduction=reduction
    )
    return _like(logits, loss)


def rms_norm(x: np.ndarray, gamma: np.ndarray, *, eps: float) -> np.ndarray:
    """Bring each vector to unit root mean square, then scale it."""
    return _like(x, reference.rms_norm(x, gamma, eps=eps))


def gelu(x: np.ndarray) -> np.ndarray:
    """Weigh each entry by how probable it is that a standard normal variable lies below it."""
    return _like(x, reference.gelu(x))


def silu(x: np.ndarray) -> np.ndarray:
    """Weigh each entry by its own logistic function."""
    return _like(x, reference.silu(x))


def feed_forward(x: np.ndarray, weights: HasFeedForwardWeights, *, activation: Activation) -> np.ndarray:
    """Pass each position through two matrices with an activation in between."""
    return _like(x, reference.feed_forward(x, weights, activation=activation))


def gated_feed_forward(x: np.ndarray, weights: HasGatedFeedForwardWeights, *, activation: Activation) -> np.ndarray:
    """Pass each position through two matrices, one gating the other, and a third."""
    return _like(x, reference.gated_feed_forward(x, weights, activation=activation))


def merge_attention(
    output_a: np.ndarray, lse_a: np.ndarray, output_b: np.ndarray, lse_b: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Join the attention over two disjoint sets of keys to the attention over all of them."""
    output, lse = reference.merge_attention(output_a, lse_a, output_b, lse_b)
    return _like(output_a, output), _like(lse_a, lse)


def encoder_layer(
    x: np.ndarray,
    weights: HasEncoderLayerWeights,
    *,
    num_heads: int,
    norm_first: bool,
    activation: Activation,
    eps: float,
    padding_mask: np.ndarray | None = None,
) -> np.ndarray:
    """Let every position attend to all real ones, then transform each alone."""
    result = reference.encoder_layer(
        x,
        weights,
        num_heads=num_heads,
        norm_first=norm_first,
        activation=activation,
        eps=eps,
        padding_mask=padding_mask,
    )
    return _like(x, result)


def decoder_layer(
    x: np.ndarray,
    memory: np.ndarray,
    weights: HasDecoderLayerWeights,
    *,
    num_heads: int,
    norm_first: bool,
    activation: Activation,
    eps: float,
    padding_mask: np.ndarray | None = None,
    memory_padding_mask: np.ndarray | None = None,
) -> np.ndarray:
    """Let every position attend to the real ones that are not later, then to a memory, then transform it alone."""
    result = reference.decoder_layer(
        x,
        memory,
        weights,
        num_heads=num_heads,
        norm_first=norm_first,
        activation=activation,
        eps=eps,
        padding_mask=padding_mask,
        memory_padding_mask=memory_padding_mask,
    )
    return _like(x, result)


def _like(argument: np.ndarray, result: np.ndarray) -> np.ndarray:
    """Return the result in the argument's dtype."""
    return result.astype(argument.dtype, copy=False)
