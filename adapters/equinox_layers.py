"""Layers of Equinox made from the interface's weights and called once; not compiled.

Equinox's layers take one sample without a batch axis, and its norms and embeddings one vector or token: jax.vmap, as
its documentation asks, brings the other axes. Its matrices are (out, in), the transpose of the interface's. Its
attention on heads alone is not public, and it has neither a causal flag nor grouped heads.

Source: equinox.nn.MultiheadAttention, LayerNorm, RMSNorm, Embedding, RotaryPositionalEmbedding and Dropout in
Equinox's documentation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox
import jax
import jax.numpy as jnp
from equinox import nn

Array = Any

# The interface's positions go up to 2048.
_POSITIONS = 2049


def multi_head_attention(x: Array, context: Array, weights: Any, *, num_heads: int, mask: Array | None = None) -> Array:
    """Attend in several learned subspaces at once and mix what each head found."""
    layer = multi_head_layer(weights, num_heads)
    if mask is None:
        return jax.vmap(layer)(x, context, context)
    # Equinox takes (L, S) or (H, L, S) in full.
    tables = jnp.broadcast_to(mask, (x.shape[0], num_heads, x.shape[1], context.shape[1]))
    return jax.vmap(layer)(x, context, context, tables)


def layer_norm(x: Array, gamma: Array, beta: Array, *, eps: float) -> Array:
    """Bring each vector to zero mean and unit variance, then scale and shift it."""
    layer = nn.LayerNorm(gamma.shape, eps=eps, dtype=gamma.dtype)
    return _over_vectors(_with(layer, weight=gamma, bias=beta), x)


def rms_norm(x: Array, gamma: Array, *, eps: float) -> Array:
    """Bring each vector to unit root mean square, then scale it; Equinox's shift is left out."""
    layer = nn.RMSNorm(gamma.shape, eps=eps, use_bias=False, dtype=gamma.dtype)
    return _over_vectors(_with(layer, weight=gamma), x)


def token_embedding(tokens: Array, table: Array) -> Array:
    """Look up the vector of each token; Equinox does not scale it."""
    return jax.vmap(jax.vmap(nn.Embedding(weight=table)))(tokens)


def rotary_embedding(x: Array, positions: Array) -> Array:
    """Turn each pair of components by an angle that grows with the position; without a choice of the base.

    Equinox turns row i of a sequence by position i: each vector is put at its row of an empty sequence.
    """
    layer = nn.RotaryPositionalEmbedding(x.shape[-1])

    def turned(vector: Array, position: Array) -> Array:
        return layer(jnp.zeros((_POSITIONS, x.shape[-1]), x.dtype).at[position].set(vector))[position]

    rows = jnp.broadcast_to(positions if positions.ndim == 1 else positions[:, None], x.shape[:-1])
    return jax.vmap(jax.vmap(jax.vmap(turned)))(x, rows)


def dropout(x: Array, *, rate: float, seed: int, training: bool = True) -> Array:
    """Replace entries by zero at random and scale the others up."""
    return nn.Dropout(rate, inference=not training)(x, key=jax.random.key(seed))


def multi_head_layer(weights: Any, num_heads: int) -> nn.MultiheadAttention:
    """Return equinox.nn.MultiheadAttention with the interface's weights and those biases that are given."""
    width, values = weights.w_q.shape[0], weights.w_v.shape[1]
    layer = nn.MultiheadAttention(
        num_heads,
        width,
        qk_size=weights.w_q.shape[1] // num_heads,
        vo_size=values // num_heads,
        use_query_bias=weights.b_q is not None,
        use_key_bias=weights.b_k is not None,
        use_value_bias=weights.b_v is not None,
        use_output_bias=weights.b_o is not None,
        dtype=weights.w_q.dtype,
        key=jax.random.key(0),
    )
    pairs = (("query", "q"), ("key", "k"), ("value", "v"), ("output", "o"))
    projections = {
        f"{name}_proj": _with(
            getattr(layer, f"{name}_proj"),
            weight=getattr(weights, f"w_{letter}").T,
            bias=getattr(weights, f"b_{letter}"),
        )
        for name, letter in pairs
    }
    return _with(layer, **projections)


def _with(layer: Any, **parts: Any) -> Any:
    """Return the layer with some of its attributes replaced; None leaves one as it is."""
    given = {name: part for name, part in parts.items() if part is not None}
    return equinox.tree_at(lambda tree: [getattr(tree, name) for name in given], layer, list(given.values()))


def _over_vectors(layer: Callable[[Array], Array], x: Array) -> Array:
    """Return the layer applied to each vector along the last axis."""
    for _ in range(x.ndim - 1):
        layer = jax.vmap(layer)
    return layer(x)
