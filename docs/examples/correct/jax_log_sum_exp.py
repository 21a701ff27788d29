"""Weights from jax.nn.logsumexp, in JAX; empty rows give NaN."""

from functools import partial

import jax
import jax.numpy as jnp

framework = "jax"
dtypes = ("float32", "bfloat16", "float16")


@partial(jax.jit, static_argnames=("is_causal", "scale"))
def scaled_dot_product_attention(query, key, value, *, mask=None, bias=None, is_causal=False, scale=None):
    logits = jnp.einsum("bhld,bhsd->bhls", query * (query.shape[-1] ** -0.5 if scale is None else scale), key)
    if bias is not None:
        logits = logits + bias
    if is_causal:
        logits = jnp.where(jnp.tri(*logits.shape[-2:], dtype=bool), logits, -jnp.inf)
    if mask is not None:
        logits = jnp.where(mask, logits, -jnp.inf)
    # In 16 bits the logarithm of the normaliser would be too coarse.
    logits = logits.astype(jnp.promote_types(query.dtype, jnp.float32))
    lse = jax.nn.logsumexp(logits, axis=-1, keepdims=True)
    weights = jnp.exp(logits - jnp.where(jnp.isneginf(lse), jnp.nan, lse))
    return jnp.einsum("bhls,bhsd->bhld", weights.astype(query.dtype), value)
