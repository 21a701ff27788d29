import jax
import jax.numpy as jnp
from jax import Array


def make_attention_mask(query_valid: Array, key_valid: Array) -> Array:
    """(B, 1, L, S), True where both the query and the key are real tokens."""
    return (query_valid[:, :, None] & key_valid[:, None, :])[:, None]


def dot_product_attention(query: Array, key: Array, value: Array, mask: Array | None = None) -> Array:
    """Scaled dot-product attention.

    Args:
      query: (batch, q_length, num_heads, head_dim)
      key: (batch, kv_length, num_heads, head_dim)
      value: (batch, kv_length, num_heads, v_dim)
      mask: boolean (batch, 1 or num_heads, q_length, kv_length). True: the query attends to the key,
        False: the key is hidden. Every query sees a key.

    Returns:
      (batch, q_length, num_heads, v_dim)
    """
    query = query / jnp.sqrt(query.shape[-1]).astype(query.dtype)
    weights = jnp.einsum("...qhd,...khd->...hqk", query, key)
    if mask is not None:
        big_neg = jnp.finfo(weights.dtype).min
        weights = jnp.where(mask, big_neg, weights)
    weights = jax.nn.softmax(weights)
    return jnp.einsum("...hqk,...khd->...qhd", weights, value)
