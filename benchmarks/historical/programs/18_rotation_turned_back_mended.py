"""Rotary position embedding in JAX, in halves."""

import jax.numpy as jnp


def rotate_half(x):
    first, second = jnp.split(x, 2, axis=-1)
    return jnp.concatenate((-second, first), axis=-1)


def rotary_embedding(x, positions, base=10000.0):
    width = x.shape[-1]
    frequencies = base ** (-jnp.arange(0, width, 2, dtype=jnp.float32) / width)
    angles = positions[..., None].astype(jnp.float32) * frequencies
    if angles.ndim == 3:
        angles = angles[:, None]
    cosines, sines = (jnp.concatenate((f(angles), f(angles)), axis=-1).astype(x.dtype) for f in (jnp.cos, jnp.sin))
    return x * cosines + rotate_half(x) * sines
