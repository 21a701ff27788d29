# Reference implementations the Pallas kernels are tested against.
from __future__ import annotations

import functools

import jax
from jax import numpy as jnp

DEFAULT_MASK_VALUE = -0.7 * float(jnp.finfo(jnp.dtype("float32")).max)


def mha_reference(
    q,
    k,
    v,
    segment_ids: jax.Array | None = None,
    sm_scale: float | None = None,
    causal: bool = False,
):
    """Softmax attention, [batch, heads, length, head_dim].

    segment_ids: [batch, length] int32, a query attends to the keys of its own segment only.
    sm_scale: defaults to head_dim ** -0.5.
    """
    if sm_scale is None:
        sm_scale = q.shape[-1] ** -0.5
    logits = jnp.einsum(
        "bhqc,bhkc->bhqk", q, k, preferred_element_type=jnp.float32
    )
    logits *= sm_scale
    mask = None
    if segment_ids is not None:
        mask = jnp.expand_dims(segment_ids, 2) == jnp.expand_dims(segment_ids, 1)
        mask = mask[:, None, :, :]
    if causal:
        q_seq_len, kv_seq_len = q.shape[2], k.shape[2]
        mask_shape = (q_seq_len, kv_seq_len)
        row_ids = jax.lax.broadcasted_iota(jnp.int32, mask_shape, 0)
        col_ids = jax.lax.broadcasted_iota(jnp.int32, mask_shape, 1)
        causal_mask = (col_ids <= row_ids)[None, None, :, :]
        mask = causal_mask if mask is None else jnp.logical_and(mask, causal_mask)
    logits = logits if mask is None else jnp.where(mask, logits, DEFAULT_MASK_VALUE)
    m = logits.max(axis=-1)
    unnormalized = jnp.exp(logits - m[..., None])
    l = unnormalized.sum(axis=-1)
    weights = unnormalized / l[..., None]
    return jnp.einsum("bhqk,bhkc->bhqc", weights.astype(v.dtype), v)


@functools.partial(jax.jit, static_argnames=("eps",))
def layer_norm_reference(x, weight, bias, *, eps: float = 1e-5):
    """x: [..., features]"""
    mean = jnp.mean(x, axis=-1, keepdims=True)
    mean2 = jnp.mean(jnp.square(x - mean), axis=-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(mean2 + eps) * weight + bias


@functools.partial(jax.jit, static_argnames=("eps",))
def rms_norm_reference(x, weight, *, eps: float = 1e-5):
    """x: [..., features]"""
    return x * jax.lax.rsqrt(jnp.mean(jnp.square(x), axis=-1, keepdims=True) + eps) * weight
