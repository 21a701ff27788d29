"""MultiHeadAttention of Flax NNX with its decode cache.

Where the call is causal self-attention (`is_causal`, and `context` is `x`), the tokens are handed to the layer one
after another, each call sees one, and the outputs are put side by side: they must be what one call with the causal flag
gives. The cache is for nothing else, so any other call is one call of the same layer without it.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from veriformer.adapters import flax, flax_layers
from veriformer.adapters.jax_transforms import compiled

Array = Any

framework = "jax"
dtypes = flax.dtypes
conventions = flax.conventions
limitations = flax.limitations


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
    """Attend in several learned subspaces at once; causal self-attention token by token, through the cache."""
    if is_causal and context is x:
        return _token_by_token(x, weights, num_heads=num_heads, num_kv_heads=num_kv_heads, mask=mask)
    return flax.multi_head_attention(
        x, context, weights, num_heads=num_heads, num_kv_heads=num_kv_heads, mask=mask, is_causal=is_causal
    )


@compiled
def _token_by_token(
    x: Array, weights: Any, *, num_heads: int, num_kv_heads: int | None = None, mask: Array | None = None
) -> Array:
    layer = flax_layers.multi_head_layer(weights, num_heads, num_kv_heads)
    layer.init_cache(x.shape, x.dtype)
    rows = [_row(mask, token) for token in range(x.shape[1])]
    outputs = [layer(x[:, token : token + 1], mask=row, decode=True) for token, row in enumerate(rows)]
    return jnp.concatenate(outputs, axis=1)


def _row(mask: Array | None, query: int) -> Array | None:
    """Return what one query may see, of an (L, S) or rank-4 mask, with axes for the batch and the heads."""
    if mask is None:
        return None
    table = mask if mask.ndim == 4 else mask[None, None]
    return table if table.shape[-2] == 1 else table[:, :, query : query + 1]
