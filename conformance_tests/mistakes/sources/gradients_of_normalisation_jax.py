"""Layer and RMS normalisation in JAX with derivatives of their own."""

from functools import partial

import jax
import jax.numpy as jnp

framework = "jax"
dtypes = ("float32",)


@partial(jax.custom_vjp, nondiff_argnums=(3,))
def normalise(x, gamma, beta, eps):
    return normalise_forward(x, gamma, beta, eps)[0]


def normalise_forward(x, gamma, beta, eps):
    centred = x - x.mean(axis=-1, keepdims=True)
    inverse = jax.lax.rsqrt(jnp.mean(centred**2, axis=-1, keepdims=True) + eps)
    return centred * inverse * gamma + beta, (centred, inverse, gamma)


def normalise_back(eps, kept, grad_output):
    centred, inverse, gamma = kept
    scaled = grad_output * gamma
    of_variance = -0.5 * inverse**3 * jnp.sum(scaled * centred, axis=-1, keepdims=True)
    of_mean = -inverse * jnp.sum(scaled, axis=-1, keepdims=True)
    width = scaled.shape[-1]
    grad_x = scaled * inverse + 2 * of_variance * centred / width + of_mean / width
    grad_gamma = jnp.einsum("...e,...e->e", grad_output, centred * inverse)
    return grad_x, grad_gamma, jnp.einsum("...e->e", grad_output)


normalise.defvjp(normalise_forward, normalise_back)


@partial(jax.custom_vjp, nondiff_argnums=(2,))
def scale(x, gamma, eps):
    return scale_forward(x, gamma, eps)[0]


def scale_forward(x, gamma, eps):
    root = jnp.sqrt(jnp.mean(x**2, axis=-1, keepdims=True) + eps)
    return x / root * gamma, (x, root, gamma)


def scale_back(eps, kept, grad_output):
    x, root, gamma = kept
    unit = x / root
    part = jnp.mean(grad_output * gamma * unit, axis=-1, keepdims=True)
    return (grad_output * gamma - part * unit) / root, jnp.einsum("...e,...e->e", grad_output, unit)


scale.defvjp(scale_forward, scale_back)


def layer_norm(x, gamma, beta, *, eps):
    return normalise(x, gamma, beta, eps)


def rms_norm(x, gamma, *, eps):
    return scale(x, gamma, eps)
