"""Attention with windows, soft caps and sinks, and merging of parts, written by hand in JAX."""

from functools import partial

import jax
import jax.numpy as jnp

framework = "jax"


def visible_keys(queries, keys, mask, is_causal, window):
    """Return which keys each query may see, (L, S) or what the mask broadcasts to."""
    distance = jnp.arange(queries)[:, None] - jnp.arange(keys)
    visible = jnp.ones((queries, keys), dtype=bool)
    if is_causal:
        visible &= distance >= 0
    if window is not None:
        left, right = window
        if left not in (None, -1):
            visible &= distance <= left
        if right not in (None, -1):
            visible &= distance >= -right
    return visible if mask is None else visible & mask


@partial(jax.jit, static_argnames=("is_causal", "window", "softcap"))
def scaled_dot_product_attention(
    query, key, value, *, mask=None, bias=None, is_causal=False, scale=None, window=None, softcap=None, sinks=None
):
    logits = query @ key.swapaxes(-1, -2) * (query.shape[-1] ** -0.5 if scale is None else scale)
    if softcap:
        logits = softcap * jnp.tanh(logits / softcap)
    if bias is not None:
        logits = logits + bias
    logits = jnp.where(visible_keys(*logits.shape[-2:], mask, is_causal, window), logits, -jnp.inf)
    if sinks is not None:
        logits = jnp.concatenate((logits, jnp.broadcast_to(sinks[:, None, None], (*logits.shape[:-1], 1))), axis=-1)
    highest = jnp.max(logits, axis=-1, keepdims=True)
    exponentials = jnp.exp(logits - jnp.where(jnp.isneginf(highest), 0.0, highest))
    total = jnp.sum(exponentials, axis=-1, keepdims=True)
    weights = exponentials / jnp.where(total == 0.0, 1.0, total)
    return weights[..., : key.shape[-2]] @ value


def grouped_query_attention(
    query, key, value, *, mask=None, bias=None, is_causal=False, scale=None, window=None, softcap=None, sinks=None
):
    group = query.shape[1] // key.shape[1]
    options = {"mask": mask, "bias": bias, "is_causal": is_causal, "scale": scale}
    options |= {"window": window, "softcap": softcap, "sinks": sinks}
    return scaled_dot_product_attention(
        query, jnp.repeat(key, group, axis=1), jnp.repeat(value, group, axis=1), **options
    )


@jax.jit
def merge_attention(output_a, lse_a, output_b, lse_b):
    # Two parts without keys have −∞ each: e^(−∞ + ∞) would be NaN, and so would the gradient of logaddexp.
    empty = jnp.isneginf(jnp.maximum(lse_a, lse_b))
    lse = jnp.logaddexp(jnp.where(empty, 0.0, lse_a), jnp.where(empty, 0.0, lse_b))
    share_a, share_b = jnp.exp(lse_a - lse)[..., None], jnp.exp(lse_b - lse)[..., None]
    return share_a * output_a + share_b * output_b, jnp.where(empty, -jnp.inf, lse)
