"""jax.nn.softmax's gradient in float16 loses its second term once the sum of exponentials reaches 256."""

import jax
import jax.numpy as jnp

for keys in (255, 256):
    uniform, ones = jnp.zeros(keys, jnp.float16), jnp.ones(keys, jnp.float16)
    gradient = jax.vjp(jax.nn.softmax, uniform)[1](ones)[0]
    print(f"{keys} keys of weight {1 / keys:.6f}: d(sum of weights)/dx = {gradient[0]:.6f} instead of 0")
    assert (gradient[0] > 0.9 / keys) == (keys == 256)
