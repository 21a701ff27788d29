"""Sinusoids and norms by `fori_loop`, a log-sum-exp by `cond`: control flow that is traced."""

import jax
import jax.numpy as jnp

framework = "jax"


@jax.jit
def softmax(x):
    def column(index, total):
        return total + jnp.exp(x[..., index] - highest)

    highest = x.max(axis=-1)
    total = jax.lax.fori_loop(0, x.shape[-1], column, jnp.zeros(x.shape[:-1], x.dtype))
    return jnp.exp(x - highest[..., None]) / total[..., None]


def layer_norm(x, gamma, beta, *, eps):
    return _layer_norm(x, gamma, beta, eps)


@jax.jit
def _layer_norm(x, gamma, beta, eps):
    mean = jnp.mean(x, axis=-1, keepdims=True)
    spread = jax.lax.fori_loop(
        0, x.shape[-1], lambda i, s: s + (x[..., i] - mean[..., 0]) ** 2, jnp.zeros_like(mean[..., 0])
    )
    return gamma * (x - mean) * jax.lax.rsqrt(spread / x.shape[-1] + eps)[..., None] + beta


@jax.jit
def _silu(x):
    return jax.lax.cond(jnp.all(jnp.isfinite(x)), lambda y: y * jax.nn.sigmoid(y), lambda y: y / (1 + jnp.exp(-y)), x)


def silu(x):
    return _silu(x)
