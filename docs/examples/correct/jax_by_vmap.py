"""One query of one head written by hand, mapped over queries, heads and samples, in JAX; empty rows give zeros."""

from functools import partial

import jax
import jax.numpy as jnp

framework = "jax"
dtypes = ("float32", "bfloat16", "float16")


def one_query(query, keys, values, keep, bias, scale):
    """Attend with one query (D) to keys (S, D) and values (S, Dv), where `keep` (S) says."""
    logits = jnp.where(keep, keys @ (query * scale) + bias, -jnp.inf)
    powers = jnp.exp(logits - jnp.where(keep.any(), logits.max(), 0.0))
    total = powers.sum()
    return (powers @ values) / jnp.where(total == 0, 1, total)


@partial(jax.jit, static_argnames=("is_causal", "scale"))
def scaled_dot_product_attention(query, key, value, *, mask=None, bias=None, is_causal=False, scale=None):
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    shape = (*query.shape[:-1], key.shape[-2])
    keep = jnp.ones(shape, dtype=bool) if mask is None else jnp.broadcast_to(mask, shape)
    keep = keep & jnp.tri(*shape[-2:], dtype=bool) if is_causal else keep
    added = jnp.zeros(shape, query.dtype) if bias is None else jnp.broadcast_to(bias, shape)
    keep = keep & (added != -jnp.inf)
    queries = jax.vmap(one_query, in_axes=(0, None, None, 0, 0, None))
    heads = jax.vmap(queries, in_axes=(0, 0, 0, 0, 0, None))
    return jax.vmap(heads, in_axes=(0, 0, 0, 0, 0, None))(query, key, value, keep, added, scale)
