"""Attention under jit, with everything that is no array as a static argument."""

from functools import partial

import jax
import jax.numpy as jnp

framework = "jax"


@partial(jax.jit, static_argnames=("is_causal", "scale"))
def scaled_dot_product_attention(query, key, value, *, mask=None, is_causal=False, scale=None):
    depth = query.shape[-1]
    weights = jnp.einsum("...qd,...kd->...qk", query, key) * (depth**-0.5 if scale is None else scale)
    big_negative = jnp.finfo(weights.dtype).min
    if is_causal:
        weights = jnp.where(jnp.tri(*weights.shape[-2:], dtype=bool), weights, big_negative)
    if mask is not None:
        weights = jnp.where(mask, weights, big_negative)
    return jnp.einsum("...qk,...kd->...qd", jax.nn.softmax(weights), value)


@partial(jax.jit, static_argnums=(2,), static_argnames=("ignore_index",))
def _loss(logits, targets, smoothing, *, ignore_index):
    log_probabilities = jax.nn.log_softmax(logits)
    keep = jnp.ones(targets.shape, bool) if ignore_index is None else targets != ignore_index
    chosen = jnp.take_along_axis(log_probabilities, jnp.where(keep, targets, 0)[..., None], -1)[..., 0]
    losses = -(1 - smoothing) * chosen - smoothing * log_probabilities.mean(-1)
    return jnp.where(keep, losses, 0).sum() / keep.sum()


def cross_entropy(logits, targets, *, ignore_index=None, label_smoothing=0.0):
    return _loss(logits, targets, label_smoothing, ignore_index=ignore_index)
