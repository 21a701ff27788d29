"""nnx.MultiHeadAttention with is_causal refuses a padding mask when it sows its weights, and takes it otherwise."""

import jax.numpy as jnp
from flax import nnx

attention = nnx.MultiHeadAttention(2, 4, decode=False, rngs=nnx.Rngs(0))
x, padding = jnp.ones((2, 3, 4)), jnp.ones((2, 1, 1, 3), dtype=bool)
assert attention(x, mask=padding, is_causal=True).shape == (2, 3, 4)
try:
    attention(x, mask=padding, is_causal=True, sow_weights=True)
    raise AssertionError("the mask is accepted")
except ValueError as error:
    print("sow_weights=True:", error)
