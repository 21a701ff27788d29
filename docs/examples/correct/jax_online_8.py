"""Blocked online softmax in JAX, 8 keys at a time; empty rows give zeros."""

from functools import partial

import jax
import jax.numpy as jnp

framework = "jax"
dtypes = ("float32", "bfloat16", "float16")
BLOCK = 8


@partial(jax.jit, static_argnames=("is_causal", "scale"))
def scaled_dot_product_attention(query, key, value, *, mask=None, bias=None, is_causal=False, scale=None):
    wide = jnp.promote_types(query.dtype, jnp.float32)
    shape = (*query.shape[:-1], key.shape[-2])
    logits = jnp.matmul(query, key.swapaxes(-1, -2), preferred_element_type=wide)
    logits = logits * (query.shape[-1] ** -0.5 if scale is None else scale)
    if bias is not None:
        logits = logits + bias
    keep = jnp.tri(*shape[-2:], dtype=bool) if is_causal else jnp.ones(shape[-2:], dtype=bool)
    keep = keep if mask is None else keep & mask
    logits = jnp.where(keep, logits, -jnp.inf)
    highest = jnp.full((*shape[:-1], 1), -jnp.inf, wide)
    total, output = jnp.zeros_like(highest), jnp.zeros((*shape[:-1], value.shape[-1]), wide)
    for start in range(0, shape[-1], BLOCK):
        block = logits[..., start : start + BLOCK]
        new = jnp.maximum(highest, block.max(axis=-1, keepdims=True))
        shift = jnp.where(jnp.isneginf(new), 0.0, new)
        rescale, part = jnp.exp(highest - shift), jnp.exp(block - shift)
        total = total * rescale + part.sum(axis=-1, keepdims=True)
        output = output * rescale + part @ value[..., start : start + BLOCK, :].astype(wide)
        highest = new
    return (output / jnp.where(total == 0, 1, total)).astype(query.dtype)
