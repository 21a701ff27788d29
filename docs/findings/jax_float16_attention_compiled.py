"""jax.nn.dot_product_attention in float16 works on the CPU operation by operation, and fails under jax.jit."""

import jax
import jax.numpy as jnp

x = jnp.ones((1, 2, 1, 4), jnp.float16)
print("eager:", jax.nn.dot_product_attention(x, x, x).dtype)
try:
    jax.jit(jax.nn.dot_product_attention)(x, x, x)
    raise AssertionError("jit accepts float16")
except ValueError as error:
    print("jit:", error)
