"""Attention as a user of JAX writes it, run operation by operation, with every keyword of the interface."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

framework = "jax"

Array = Any


def scaled_dot_product_attention(
    query: Array,
    key: Array,
    value: Array,
    *,
    mask: Array | None = None,
    bias: Array | None = None,
    is_causal: bool = False,
    scale: float | None = None,
    window: tuple[int | None, int | None] | None = None,
    softcap: float | None = None,
    sinks: Array | None = None,
) -> Array:
    """Average the values by the softmax of the scaled logits that may be seen; a row that sees nothing is zero."""
    scores = jnp.einsum("bhld,bhsd->bhls", query, key) * (query.shape[-1] ** -0.5 if scale is None else scale)
    if softcap:
        scores = softcap * jnp.tanh(scores / softcap)
    if bias is not None:
        scores = scores + bias
    keep = _visible(query.shape[2], key.shape[2], is_causal, window)
    keep = jnp.broadcast_to(keep if mask is None else keep & mask, scores.shape)
    scores = jnp.where(keep, scores, -jnp.inf)
    if sinks is not None:
        sink = jnp.broadcast_to(sinks[None, :, None, None].astype(scores.dtype), (*scores.shape[:-1], 1))
        scores = jnp.concatenate([scores, sink], axis=-1)
    weights = jax.nn.softmax(scores, axis=-1)[..., : key.shape[2]]
    weights = jnp.where(keep.any(axis=-1, keepdims=True), weights, 0.0).astype(value.dtype)
    return jnp.einsum("bhls,bhsd->bhld", weights, value)


def grouped_query_attention(
    query: Array,
    key: Array,
    value: Array,
    *,
    mask: Array | None = None,
    bias: Array | None = None,
    is_causal: bool = False,
    scale: float | None = None,
    window: tuple[int | None, int | None] | None = None,
    softcap: float | None = None,
    sinks: Array | None = None,
) -> Array:
    """Attend with each key/value head repeated for the query heads that share it."""
    group = query.shape[1] // key.shape[1]
    key, value = jnp.repeat(key, group, axis=1), jnp.repeat(value, group, axis=1)
    return scaled_dot_product_attention(
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


def _visible(queries: int, keys: int, is_causal: bool, window: tuple[int | None, int | None] | None) -> Array:
    row, column = jnp.arange(queries)[:, None], jnp.arange(keys)[None, :]
    keep = jnp.ones((queries, keys), dtype=bool)
    left, right = window or (None, None)
    if is_causal:
        keep = keep & (column <= row)
    if left is not None and left >= 0:
        keep = keep & (row - column <= left)
    if right is not None and right >= 0:
        keep = keep & (column - row <= right)
    return keep
