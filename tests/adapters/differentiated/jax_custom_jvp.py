"""A SiLU with a derivative of its own forwards, which JAX transposes for the way back."""

import jax

framework = "jax"
dtypes = ("float32",)


@jax.custom_jvp
def swish(x):
    return x * jax.nn.sigmoid(x)


@swish.defjvp
def swish_jvp(primals, tangents):
    (x,), (dx,) = primals, tangents
    s = jax.nn.sigmoid(x)
    return x * s, dx * (s + x * s * (1 - s))


@jax.jit
def silu(x):
    return swish(x)
