"""In JAX, for one sample or one vector, then mapped over the others."""

import jax
import jax.numpy as jnp

framework = "jax"


def causal_mask(query_length, key_length):
    return jnp.tri(query_length, key_length, dtype=bool)


def padding_mask(lengths, max_length):
    return jax.vmap(lambda length: jnp.arange(max_length) < length)(lengths)


def single_head_attention(x, weights, *, mask=None):
    size = (len(x), x.shape[1], x.shape[1])
    seen = jnp.broadcast_to(True if mask is None else mask, size)

    def one(tokens, visible):
        query, key, value = (tokens @ weight for weight in (weights.w_q, weights.w_k, weights.w_v))
        logits = jnp.where(visible, query @ key.T / jnp.sqrt(query.shape[-1]), -jnp.inf)
        shares = jax.nn.softmax(logits, axis=-1, where=visible)
        return jnp.where(visible.any(-1, keepdims=True), shares, 0) @ value

    return jax.vmap(one)(x, seen)


def sinusoidal_positions(length, d_model):
    angles = jnp.arange(length)[:, None] / 10000.0 ** (jnp.arange(0, d_model, 2) / d_model)
    return jnp.stack([jnp.sin(angles), jnp.cos(angles)], axis=-1).reshape(length, d_model)
