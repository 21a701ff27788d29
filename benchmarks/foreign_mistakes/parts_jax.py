"""Parts of a Transformer as a JAX user writes them."""

import jax.numpy as jnp

framework = "jax"


def rotary_embedding(x, positions, *, base=10000.0):
    half = x.shape[-1] // 2
    freq = 1.0 / base ** (jnp.arange(half, dtype=jnp.float32) * 2.0 / x.shape[-1])
    pos = positions if positions.ndim == 2 else positions[None]
    ang = pos[:, None, :, None].astype(jnp.float32) * freq
    c, s = jnp.cos(ang), jnp.sin(ang)
    a, b = x[..., 0::2], x[..., 1::2]
    turned = jnp.stack([a * c - b * s, a * s + b * c], axis=-1)
    return turned.reshape(x.shape).astype(x.dtype)


def softmax(z):
    e = jnp.exp(z - jnp.max(z, axis=-1, keepdims=True))
    return e / jnp.sum(e, axis=-1, keepdims=True)
