"""A correct implementation in JAX; the tests change one line at a time."""

import jax
import jax.numpy as jnp

framework = "jax"


def clip_by_global_norm(gradients, *, max_norm):
    norm = jnp.sqrt(sum(jnp.sum(jnp.square(leaf)) for leaf in jax.tree.leaves(gradients)))
    return jax.tree.map(lambda leaf: leaf * (max_norm / jnp.maximum(norm, max_norm)), gradients)
