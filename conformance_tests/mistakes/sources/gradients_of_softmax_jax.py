"""Softmax in JAX with a derivative of its own."""

import jax
import jax.numpy as jnp

framework = "jax"


@jax.custom_vjp
def softmax(x):
    exponentials = jnp.exp(x - x.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def softmax_forward(x):
    weights = softmax(x)
    return weights, weights


def softmax_back(weights, grad_output):
    average = jnp.sum(weights * grad_output, axis=-1, keepdims=True)
    return (weights * (grad_output - average),)


softmax.defvjp(softmax_forward, softmax_back)
