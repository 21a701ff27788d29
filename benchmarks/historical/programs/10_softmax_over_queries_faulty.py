"""Attention between the patches of an image, in JAX."""

import jax
import jax.numpy as jnp


def scaled_dot_product_attention(queries, keys, values):
    attn_scores = queries @ jnp.swapaxes(keys, -2, -1)
    scaling = 1.0 / jnp.sqrt(keys.shape[-1])
    attn_weights = jax.nn.softmax(attn_scores * scaling, axis=-2)
    return attn_weights @ values
