"""Attention in JAX over blocks of keys, as a kernel would load them."""

import jax.numpy as jnp

BLOCK_K = 4


def attention(q, k, v):
    """q: (batch, heads, length, width); the softmax is kept online over blocks."""
    length = k.shape[2]
    padding = -length % BLOCK_K
    k = jnp.pad(k, ((0, 0), (0, 0), (0, padding), (0, 0)))
    v = jnp.pad(v, ((0, 0), (0, 0), (0, padding), (0, 0)))
    q = q / jnp.sqrt(q.shape[-1]).astype(q.dtype)
    m = jnp.full((*q.shape[:3], 1), -jnp.inf, q.dtype)
    l = jnp.zeros((*q.shape[:3], 1), q.dtype)
    acc = jnp.zeros((*q.shape[:3], v.shape[-1]), q.dtype)
    for start in range(0, length + padding, BLOCK_K):
        s = jnp.einsum("bhld,bhsd->bhls", q, k[:, :, start : start + BLOCK_K])
        m_next = jnp.maximum(m, s.max(-1, keepdims=True))
        correction = jnp.exp(m - m_next)
        p = jnp.exp(s - m_next)
        l = correction * l + p.sum(-1, keepdims=True)
        acc = correction * acc + p @ v[:, :, start : start + BLOCK_K]
        m = m_next
    return acc / l
