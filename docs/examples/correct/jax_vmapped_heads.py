"""One head of one sample, spread over heads and samples by vmap; rotary turned by complex numbers."""

import jax
import jax.numpy as jnp

framework = "jax"


def _one_head(q, k, v):
    return jax.nn.softmax(q @ k.T / jnp.sqrt(q.shape[-1]), axis=-1) @ v


def grouped_query_attention(query, key, value):
    batch, heads, length, width = query.shape
    per_group = query.reshape(batch, key.shape[1], -1, length, width)
    over_queries = jax.vmap(_one_head, in_axes=(0, None, None))
    out = jax.vmap(jax.vmap(over_queries))(per_group, key, value)
    return out.reshape(batch, heads, length, value.shape[-1])


def _turn_one(x, position, base):
    rates = base ** (-jnp.arange(0, x.shape[-1], 2) / x.shape[-1])
    turned = (x[0::2] + 1j * x[1::2]) * jnp.exp(1j * position * rates)
    return jnp.stack([turned.real, turned.imag], axis=-1).reshape(x.shape).astype(x.dtype)


def rotary_embedding(x, positions, *, base=10000.0):
    def turn(vector, position):
        return _turn_one(vector, position, base)

    over_positions = jax.vmap(turn)
    over_heads = jax.vmap(over_positions, in_axes=(0, None))
    return jax.vmap(over_heads, in_axes=(0, 0 if positions.ndim == 2 else None))(x, positions)


def rms_norm(x, gamma, *, eps):
    def one(vector):
        return vector / jnp.sqrt(jnp.vdot(vector, vector) / vector.size + eps) * gamma

    return jax.vmap(one)(x.reshape(-1, x.shape[-1])).reshape(x.shape)
