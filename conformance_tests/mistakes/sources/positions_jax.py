"""Correct position encodings in JAX, compiled, complex rotation of neighbouring pairs; the tests change one line."""

from functools import partial

import jax
import jax.numpy as jnp

framework = "jax"
dtypes = ("float32", "bfloat16")


@partial(jax.jit, static_argnames=("rotary_dim",))
def rotary_embedding(x, positions, *, base=10000.0, rotary_dim=None):
    width = x.shape[-1] if rotary_dim is None else rotary_dim
    frequencies = base ** (-jnp.arange(0, width, 2, dtype=jnp.float32) / width)
    angles = positions[..., None] * frequencies
    angles = angles[:, None] if positions.ndim == 2 else angles
    pairs = x[..., :width].astype(jnp.float32).reshape(*x.shape[:-1], -1, 2)
    turned = jax.lax.complex(pairs[..., 0], pairs[..., 1]) * jnp.exp(1j * angles)
    turned = jnp.stack((turned.real, turned.imag), axis=-1).reshape(*x.shape[:-1], width)
    return jnp.concatenate((turned.astype(x.dtype), x[..., width:]), axis=-1)


@partial(jax.jit, static_argnums=(0, 1, 2))
def alibi_bias(num_heads, query_length, key_length):
    power = 1 << (num_heads.bit_length() - 1)
    heads = jnp.arange(1, power + 1) / power
    between = (jnp.arange(num_heads - power) * 2 + 1) / (2 * power)
    slopes = 2.0 ** (-8.0 * jnp.concatenate((heads, between)))
    rows = jnp.arange(query_length) + key_length - query_length
    return slopes[:, None, None] * (jnp.arange(key_length) - rows[:, None])


@partial(jax.jit, static_argnames=("bidirectional", "num_buckets", "max_distance"))
def relative_position_bucket(relative_position, *, bidirectional=True, num_buckets=32, max_distance=128):
    later = 0
    if bidirectional:
        num_buckets //= 2
        later = jnp.where(relative_position > 0, num_buckets, 0)
        distance = jnp.abs(relative_position)
    else:
        distance = jnp.maximum(-relative_position, 0)
    exact = num_buckets // 2
    ratio = jnp.log(jnp.maximum(distance, exact) / exact) / jnp.log(max_distance / exact)
    far = exact + jnp.floor(ratio * (num_buckets - exact)).astype(int)
    return later + jnp.where(distance < exact, distance, jnp.minimum(far, num_buckets - 1))
