"""GELU and SiLU in JAX with derivatives of their own."""

import jax
import jax.numpy as jnp

framework = "jax"
conventions = {"gelu_form": "tanh"}


@jax.custom_jvp
def gelu(x):
    return jax.nn.gelu(x, approximate=True)


@gelu.defjvp
def gelu_jvp(primals, tangents):
    (x,), (tangent,) = primals, tangents
    height = jnp.tanh(0.7978845608 * (x + 0.044715 * x**3))
    slope = 0.5 * (1 - height**2) * 0.7978845608 * (1 + 3 * 0.044715 * x**2)
    return gelu(x), tangent * (0.5 * (1 + height) + x * slope)


@jax.custom_vjp
def silu(x):
    return jax.nn.silu(x)


def silu_forward(x):
    return silu(x), x


def silu_back(x, grad_output):
    gate = jax.nn.sigmoid(x)
    return (grad_output * (gate + x * gate * (1 - gate)),)


silu.defvjp(silu_forward, silu_back)
