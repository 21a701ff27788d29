"""An RMS norm with a derivative of its own by an argument that is none, compiled."""

from functools import partial

import jax
import jax.numpy as jnp

framework = "jax"
dtypes = ("float32",)


@partial(jax.custom_vjp, nondiff_argnums=(2,))
def norm(x, gamma, eps):
    return forward(x, gamma, eps)[0]


def forward(x, gamma, eps):
    rstd = jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + eps)
    return x * rstd * gamma, (x, gamma, rstd)


def backward(eps, residuals, dy):
    x, gamma, rstd = residuals
    xhat = x * rstd
    g = dy * gamma
    dx = rstd * (g - xhat * jnp.mean(g * xhat, axis=-1, keepdims=True))
    return dx, jnp.sum((dy * xhat).reshape(-1, x.shape[-1]), axis=0)


norm.defvjp(forward, backward)


@partial(jax.jit, static_argnames="eps")
def rms_norm(x, gamma, *, eps):
    return norm(x, gamma, eps)
