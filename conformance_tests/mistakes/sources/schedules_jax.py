"""A correct implementation in JAX; the tests change one line at a time."""

import jax.numpy as jnp

framework = "jax"


def warmup_cosine_learning_rate(step, *, peak, least, warmup_steps, total_steps):
    rise = peak * jnp.minimum(step / jnp.maximum(warmup_steps, 1), 1.0)
    progress = jnp.clip((step - warmup_steps) / (total_steps - warmup_steps), 0.0, 1.0)
    fall = least + 0.5 * (peak - least) * (1.0 + jnp.cos(jnp.pi * progress))
    return jnp.where(step < warmup_steps, rise, fall)


def warmup_inverse_root_learning_rate(step, *, d_model, warmup_steps):
    step = jnp.asarray(step, dtype=jnp.float32)
    return jnp.power(d_model, -0.5) * jnp.minimum(jnp.power(step, -0.5), step * jnp.power(warmup_steps, -1.5))
