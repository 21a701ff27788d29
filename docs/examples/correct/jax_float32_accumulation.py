"""Products and softmax in float32 and one rounding, in JAX; empty rows give zeros."""

from functools import partial

import jax
import jax.numpy as jnp

framework = "jax"
dtypes = ("float32", "bfloat16", "float16")


@partial(jax.jit, static_argnames=("is_causal", "scale"))
def scaled_dot_product_attention(query, key, value, *, mask=None, bias=None, is_causal=False, scale=None):
    wide = jnp.promote_types(query.dtype, jnp.float32)
    logits = jnp.einsum("...ld,...sd->...ls", query, key, preferred_element_type=wide)
    logits = logits * (query.shape[-1] ** -0.5 if scale is None else scale)
    if bias is not None:
        logits = logits + bias
    keep = logits != -jnp.inf
    if is_causal:
        keep = keep & jnp.tri(*logits.shape[-2:], dtype=bool)
    if mask is not None:
        keep = keep & mask
    highest = jnp.max(logits, axis=-1, keepdims=True, where=keep, initial=jnp.finfo(wide).min)
    powers = jnp.where(keep, jnp.exp(jnp.where(keep, logits - highest, 0.0)), 0.0)
    total = powers.sum(axis=-1, keepdims=True)
    weights = powers / jnp.where(total == 0, 1.0, total)
    return jnp.einsum("...ls,...sd->...ld", weights, value, preferred_element_type=wide).astype(query.dtype)
