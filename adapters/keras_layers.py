"""Functions and layers of Keras on whichever backend it runs, made from the interface's weights and called once.

What differs between the backends is in the modules that hand these on. Keras has layers of one of two kinds for
several heads: MultiHeadAttention, and GroupQueryAttention where heads share keys and values.

Source: keras.ops.nn, keras.activations, keras.losses, keras.layers.MultiHeadAttention, GroupQueryAttention,
LayerNormalization, RMSNormalization, Embedding and Dropout in Keras's documentation.
"""

from __future__ import annotations

from typing import Any

import keras
from keras import layers, ops

Array = Any

# Of every backend; what one of them does otherwise stands in its module.
CONVENTIONS = {
    "mask_polarity": "true_attends",
    "causal_alignment": "top_left",
    "causal_with_mask": "intersect",
    "layout": "blhd",
    "kv_grouping": "repeat_each",
    "layer_norm_eps": "inside_root",
    "rms_norm_gain": "gamma",
    "gelu_form": "tanh",
}
LIMITATIONS = ("value_width",)


def softmax(x: Array) -> Array:
    """Turn each row of logits into a probability distribution."""
    return ops.softmax(x, axis=-1)


def scaled_dot_product_attention(
    query: Array,
    key: Array,
    value: Array,
    *,
    mask: Array | None = None,
    bias: Array | None = None,
    is_causal: bool = False,
    scale: float | None = None,
) -> Array:
    """Average the values, weighted by how well each key matches the query; the heads may share keys and values.

    Keras's argument `attn_logits_soft_cap` works on TPUs only and is left out.
    """
    return ops.dot_product_attention(
        query, key, value, bias=_rank_4(bias), mask=_rank_4(mask), is_causal=is_causal, scale=scale
    )


def multi_head_attention(
    x: Array,
    context: Array,
    weights: Any,
    *,
    num_heads: int,
    num_kv_heads: int | None = None,
    mask: Array | None = None,
    is_causal: bool = False,
) -> Array:
    """Attend in several learned subspaces at once and mix what each head found."""
    layer = multi_head_layer(x, context, weights, num_heads, num_kv_heads)
    return layer(x, context, attention_mask=_rank_4(mask), use_causal_mask=is_causal)


def multi_head_attention_with_scores(
    x: Array,
    context: Array,
    weights: Any,
    *,
    num_heads: int,
    num_kv_heads: int | None = None,
    mask: Array | None = None,
    is_causal: bool = False,
) -> Array:
    """Do the same while the weights are asked for, for which Keras has products and a softmax of its own."""
    layer = multi_head_layer(x, context, weights, num_heads, num_kv_heads)
    output, _ = layer(x, context, attention_mask=_rank_4(mask), use_causal_mask=is_causal, return_attention_scores=True)
    return output


def layer_norm(x: Array, gamma: Array, beta: Array, *, eps: float) -> Array:
    """Bring each vector to zero mean and unit variance, then scale and shift it."""
    layer = layers.LayerNormalization(epsilon=eps, dtype=_dtype(x))
    layer.build(tuple(x.shape))
    layer.gamma.assign(gamma)
    layer.beta.assign(beta)
    return layer(x)


def rms_norm(x: Array, gamma: Array, *, eps: float) -> Array:
    """Bring each vector to unit root mean square, then scale it."""
    layer = layers.RMSNormalization(epsilon=eps, dtype=_dtype(x))
    layer.build(tuple(x.shape))
    layer.scale.assign(gamma)
    return layer(x)


def token_embedding(tokens: Array, table: Array) -> Array:
    """Look up the vector of each token; Keras does not scale it."""
    layer = layers.Embedding(*table.shape, embeddings_initializer="zeros", dtype=_dtype(table))
    layer.build(None)
    layer.embeddings.assign(table)
    return layer(tokens)


_REDUCTIONS = {"mean": "sum_over_batch_size", "sum": "sum", "none": None}


def cross_entropy(logits: Array, targets: Array, *, ignore_index: int | None = None, reduction: str = "mean") -> Array:
    """Average how improbable the model found the tokens that came, computed in float32 as Keras does by default."""
    loss = keras.losses.SparseCategoricalCrossentropy(
        from_logits=True, ignore_class=ignore_index, reduction=_REDUCTIONS[reduction]
    )
    return ops.cast(loss(targets, logits), _dtype(logits))


def smoothed_cross_entropy(logits: Array, targets: Array, *, label_smoothing: float = 0.0) -> Array:
    """Average the same with CategoricalCrossentropy, which takes the targets one-hot and ignores none."""
    loss = keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=label_smoothing)
    return ops.cast(loss(ops.one_hot(targets, logits.shape[-1]), logits), _dtype(logits))


def gelu(x: Array) -> Array:
    """Weigh each entry by the tanh approximation: the default form of keras.ops."""
    return ops.gelu(x)


def silu(x: Array) -> Array:
    """Weigh each entry by its own logistic function."""
    return ops.silu(x)


def dropout(x: Array, *, rate: float, seed: int, training: bool = True) -> Array:
    """Replace entries by zero at random and scale the others up."""
    return layers.Dropout(rate, seed=seed, dtype=_dtype(x))(x, training=training)


def multi_head_layer(x: Array, context: Array, weights: Any, num_heads: int, num_kv_heads: int | None) -> Any:
    """Return Keras's layer with the kernels split into heads; without biases when no weight has one.

    ValueError when heads share keys and values and the values are not as wide as the keys, which Keras does not offer.
    """
    width, kv_heads = weights.w_q.shape[1] // num_heads, num_kv_heads or num_heads
    value_width = weights.w_v.shape[1] // kv_heads
    use_bias = any(bias is not None for bias in (weights.b_q, weights.b_k, weights.b_v, weights.b_o))
    settings = {"use_bias": use_bias, "kernel_initializer": "zeros", "dtype": _dtype(x)}
    if num_kv_heads is None:
        layer = layers.MultiHeadAttention(num_heads, width, value_dim=value_width, **settings)
    elif value_width != width:
        raise ValueError(f"keras has one width for grouped keys and values; received {width} and {value_width}")
    else:
        layer = layers.GroupQueryAttention(width, num_heads, num_kv_heads, **settings)
    layer.build(tuple(x.shape), tuple(context.shape))
    # GroupQueryAttention names its projections with an underscore only.
    _fill(layer._query_dense, weights.w_q, weights.b_q)
    _fill(layer._key_dense, weights.w_k, weights.b_k)
    _fill(layer._value_dense, weights.w_v, weights.b_v)
    _fill(layer._output_dense, weights.w_o, weights.b_o)
    return layer


def _fill(projection: Any, kernel: Array, bias: Array | None) -> None:
    """Replace a projection's parameters; a bias that is None stays zero where the layer has one."""
    projection.kernel.assign(ops.reshape(kernel, projection.kernel.shape))
    if bias is not None:
        projection.bias.assign(ops.reshape(bias, projection.bias.shape))


def _rank_4(table: Array | None) -> Array | None:
    """Return an (L, S) mask or bias with axes for the batch and the heads."""
    return table if table is None or table.ndim == 4 else table[None, None]


def _dtype(array: Array) -> str:
    return str(keras.backend.standardize_dtype(array.dtype))
