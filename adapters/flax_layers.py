"""Layers of Flax NNX made from the interface's weights and called once; not compiled.

What Flax only passes on from jax.nn (softmax, gelu, silu) is not here: it is checked as jax's. Flax has no parameter
for the scale of the logits.

Source: flax.nnx.MultiHeadAttention, dot_product_attention, LayerNorm, RMSNorm, Embed and Dropout in Flax's
documentation.
"""

from __future__ import annotations

from typing import Any

from flax import nnx

Array = Any

# The initial weights are replaced, so they are made without effort.
_ZEROS = nnx.initializers.zeros_init()


def scaled_dot_product_attention(
    query: Array,
    key: Array,
    value: Array,
    *,
    mask: Array | None = None,
    bias: Array | None = None,
    is_causal: bool = False,
) -> Array:
    """Average the values, weighted by how well each key matches the query: jax.nn's attention, called by Flax."""
    return nnx.dot_product_attention(query, key, value, bias=_rank_4(bias), mask=_rank_4(mask), is_causal=is_causal)


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
    layer = multi_head_layer(weights, num_heads, num_kv_heads)
    return layer(x, context, mask=_rank_4(mask), is_causal=is_causal)


def multi_head_attention_sowing(
    x: Array,
    context: Array,
    weights: Any,
    *,
    num_heads: int,
    num_kv_heads: int | None = None,
    mask: Array | None = None,
) -> Array:
    """Do the same while the weights are kept for inspection, for which Flax has an attention of its own.

    Without the causal flag, which that attention takes only with masks that have a row for each query.
    """
    layer = multi_head_layer(weights, num_heads, num_kv_heads)
    return layer(x, context, mask=_rank_4(mask), sow_weights=True)


def layer_norm(x: Array, gamma: Array, beta: Array, *, eps: float) -> Array:
    """Bring each vector to zero mean and unit variance, computed in one pass: Flax's default."""
    return _layer_norm(gamma, beta, eps, one_pass=True)(x)


def layer_norm_in_two_passes(x: Array, gamma: Array, beta: Array, *, eps: float) -> Array:
    """Bring each vector to zero mean and unit variance, the mean taken away first."""
    return _layer_norm(gamma, beta, eps, one_pass=False)(x)


def rms_norm(x: Array, gamma: Array, *, eps: float) -> Array:
    """Bring each vector to unit root mean square, then scale it."""
    layer = nnx.RMSNorm(gamma.shape[0], epsilon=eps, param_dtype=gamma.dtype, scale_init=_ZEROS, rngs=nnx.Rngs(0))
    layer.scale = nnx.Param(gamma)
    return layer(x)


def token_embedding(tokens: Array, table: Array) -> Array:
    """Look up the vector of each token; Flax does not scale it."""
    layer = nnx.Embed(*table.shape, param_dtype=table.dtype, embedding_init=_ZEROS, rngs=nnx.Rngs(0))
    layer.embedding = nnx.Param(table)
    return layer(tokens)


def dropout(x: Array, *, rate: float, seed: int, training: bool = True) -> Array:
    """Replace entries by zero at random and scale the others up."""
    return nnx.Dropout(rate, deterministic=not training, rngs=nnx.Rngs(dropout=seed))(x)


def multi_head_layer(weights: Any, num_heads: int, num_kv_heads: int | None) -> nnx.MultiHeadAttention:
    """Return nnx.MultiHeadAttention with the kernels split into heads; without biases when no weight has one.

    ValueError when the values are not as wide as the keys, which Flax does not offer.
    """
    kv_heads, width = num_kv_heads or num_heads, weights.w_q.shape[0]
    biases = [weights.b_q, weights.b_k, weights.b_v, weights.b_o]
    if weights.w_k.shape != weights.w_v.shape:
        raise ValueError(
            f"flax has one width for keys and values; received {weights.w_k.shape} and {weights.w_v.shape}"
        )
    layer = nnx.MultiHeadAttention(
        num_heads,
        width,
        weights.w_q.shape[1],
        num_kv_heads=kv_heads,
        use_bias=any(bias is not None for bias in biases),
        decode=False,
        param_dtype=weights.w_q.dtype,
        kernel_init=_ZEROS,
        rngs=nnx.Rngs(0),
    )
    _fill(layer.query, weights.w_q.reshape(width, num_heads, -1), weights.b_q)
    _fill(layer.key, weights.w_k.reshape(width, kv_heads, -1), weights.b_k)
    _fill(layer.value, weights.w_v.reshape(width, kv_heads, -1), weights.b_v)
    _fill(layer.out, weights.w_o.reshape(num_heads, -1, width), weights.b_o)
    return layer


def _layer_norm(gamma: Array, beta: Array, eps: float, *, one_pass: bool) -> nnx.LayerNorm:
    layer = nnx.LayerNorm(
        gamma.shape[0],
        epsilon=eps,
        param_dtype=gamma.dtype,
        use_fast_variance=one_pass,
        scale_init=_ZEROS,
        rngs=nnx.Rngs(0),
    )
    layer.scale, layer.bias = nnx.Param(gamma), nnx.Param(beta)
    return layer


def _fill(projection: nnx.LinearGeneral, kernel: Array, bias: Array | None) -> None:
    """Replace a projection's parameters; a bias that is None stays zero where the layer has one."""
    projection.kernel = nnx.Param(kernel)
    if bias is not None:
        projection.bias = nnx.Param(bias.reshape(projection.bias.shape))


def _rank_4(table: Array | None) -> Array | None:
    """Return an (L, S) mask or bias with axes for the batch and the heads."""
    return table if table is None or table.ndim == 4 else table[None, None]
