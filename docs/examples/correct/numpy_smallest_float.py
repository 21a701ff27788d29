"""Masked logits are the most negative number of the dtype."""

import numpy as np

dtypes = ("float32", "float64")


def scaled_dot_product_attention(q, k, v, *, mask=None, is_causal=False, scale=None):
    logits = np.einsum("nhqd,nhkd->nhqk", q, k) * q.dtype.type(q.shape[-1] ** -0.5 if scale is None else scale)
    lowest = np.finfo(logits.dtype).min
    if is_causal:
        logits = np.where(np.tri(*logits.shape[-2:], dtype=bool), logits, lowest)
    if mask is not None:
        logits = np.where(mask, logits, lowest)
    e = np.exp(logits - logits.max(-1, keepdims=True))
    return np.einsum("nhqk,nhkd->nhqd", e / e.sum(-1, keepdims=True), v)
