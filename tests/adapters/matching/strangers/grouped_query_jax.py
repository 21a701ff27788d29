from functools import partial
from typing import Dict, Optional

import jax
import jax.numpy as jnp

Array = jax.Array


def make_mask(q_len: int, kv_len: int, q_offset: int = 0, window: Optional[int] = None) -> Array:
    """Causal mask (True = attend); query i sits at absolute position q_offset + i.

    With ``window`` only the keys at distance < window are kept.
    """
    q_pos = q_offset + jnp.arange(q_len)[:, None]
    k_pos = jnp.arange(kv_len)[None, :]
    mask = k_pos <= q_pos
    if window is not None:
        mask &= (q_pos - k_pos) < window
    return mask


@partial(jax.jit, static_argnames=("q_offset", "window", "causal"))
def grouped_query_attention(
    query: Array,
    key: Array,
    value: Array,
    *,
    causal: bool = True,
    q_offset: int = 0,
    window: Optional[int] = None,
) -> Dict[str, Array]:
    """query [B, T, N, H], key/value [B, S, K, H] with N a multiple of K.

    Query heads g*n .. g*n + g - 1 (g = N // K) share kv head n. Softmax runs in
    float32. ``window`` is only used together with ``causal``. A query that sees no key
    at all (everything lies outside of its window) averages over all the keys.

    Returns {"out": [B, T, N, H], "weights": [B, N, T, S]}.
    """
    B, T, N, H = query.shape
    S, K = key.shape[1], key.shape[2]
    q = query.reshape(B, T, K, N // K, H)
    logits = jnp.einsum("btkgh,bskh->bkgts", q, key, preferred_element_type=jnp.float32)
    logits = logits * H ** -0.5
    if causal:
        mask = make_mask(T, S, q_offset, window)
        logits = jnp.where(mask, logits, jnp.finfo(jnp.float32).min)
    probs = jax.nn.softmax(logits, axis=-1)
    out = jnp.einsum("bkgts,bskh->btkgh", probs.astype(value.dtype), value)
    return {"out": out.reshape(B, T, N, H), "weights": probs.reshape(B, N, T, S)}
