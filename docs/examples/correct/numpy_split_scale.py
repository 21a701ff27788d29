"""The scale split evenly over queries and keys, in NumPy; masked weights are never computed."""

import numpy as np

dtypes = ("float64", "float32", "float16")


def scaled_dot_product_attention(query, key, value, *, mask=None, bias=None, is_causal=False, scale=None):
    dtype = query.dtype
    root = dtype.type(np.sqrt(query.shape[-1] ** -0.5 if scale is None else scale))
    logits = (query * root) @ (key * root).swapaxes(-1, -2)
    if bias is not None:
        logits = logits + bias
    visible = np.ones(logits.shape, dtype=bool) if mask is None else np.broadcast_to(mask, logits.shape).copy()
    if bias is not None:
        visible &= bias != -np.inf
    if is_causal:
        visible &= np.tri(*logits.shape[-2:], dtype=bool)
    highest = np.max(logits, axis=-1, keepdims=True, where=visible, initial=np.finfo(dtype).min)
    weights = np.zeros(logits.shape, dtype)
    np.exp(logits - highest, out=weights, where=visible)
    total = weights.sum(axis=-1, keepdims=True)
    weights = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
    return weights @ value
