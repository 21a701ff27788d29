"""Dropout in JAX; the tests change one line at a time."""

import jax
import jax.numpy as jnp

framework = "jax"


def dropout(x, *, rate, seed, training=True):
    if not training:
        return x
    keep_prob = 1.0 - rate
    mask = jax.random.bernoulli(jax.random.key(seed), keep_prob, x.shape)
    return jnp.where(mask, x / keep_prob, 0.0)
