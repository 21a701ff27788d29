"""A correct implementation in JAX; the tests change one line at a time."""

from functools import partial

import jax
import jax.numpy as jnp

framework = "jax"


@partial(jax.jit, static_argnames=("is_causal",))
def scaled_dot_product_attention(query, key, value, *, mask=None, is_causal=False):
    logits = query @ key.swapaxes(-1, -2) / jnp.sqrt(query.shape[-1])
    if is_causal:
        logits = jnp.where(jnp.tri(*logits.shape[-2:], dtype=bool), logits, -jnp.inf)
    if mask is not None:
        logits = jnp.where(mask, logits, -jnp.inf)
    return jax.nn.softmax(logits, axis=-1) @ value


@partial(jax.jit, static_argnames=("is_causal",))
def grouped_query_attention(query, key, value, *, mask=None, is_causal=False):
    group = query.shape[1] // key.shape[1]
    key, value = jnp.repeat(key, group, axis=1), jnp.repeat(value, group, axis=1)
    return scaled_dot_product_attention(query, key, value, mask=mask, is_causal=is_causal)
