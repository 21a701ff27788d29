"""The scale split over both operands, in JAX; hidden logits get the smallest number, so empty rows give the mean."""

from functools import partial

import jax
import jax.numpy as jnp

framework = "jax"
dtypes = ("float32", "bfloat16", "float16")


@partial(jax.jit, static_argnames=("is_causal", "scale"))
def scaled_dot_product_attention(query, key, value, *, mask=None, bias=None, is_causal=False, scale=None):
    root = (query.shape[-1] ** -0.5 if scale is None else scale) ** 0.5
    logits = (query * root) @ (key * root).swapaxes(-1, -2)
    lowest = jnp.finfo(logits.dtype).min
    if bias is not None:
        logits = jnp.maximum(logits + bias, lowest)
    if is_causal:
        logits = jnp.where(jnp.tri(*logits.shape[-2:], dtype=bool), logits, lowest)
    if mask is not None:
        logits = jnp.where(mask, logits, lowest)
    # The derivative of jax.nn.softmax overflows in float16.
    weights = jax.nn.softmax(logits.astype(jnp.promote_types(query.dtype, jnp.float32)), axis=-1)
    return weights.astype(query.dtype) @ value
