"""The causal flag aligned to the ends of queries and keys, in NumPy; rows without a key give zeros."""

import numpy as np

dtypes = ("float64", "float32", "float16")

conventions = {"causal_alignment": "bottom_right"}


def scaled_dot_product_attention(query, key, value, *, mask=None, bias=None, is_causal=False, scale=None):
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    logits = np.matmul(query * query.dtype.type(scale), np.swapaxes(key, 2, 3))
    queries, keys = logits.shape[-2:]
    if bias is not None:
        logits = logits + bias
    if is_causal:
        logits = np.where(np.tri(queries, keys, keys - queries, dtype=bool), logits, -np.inf)
    if mask is not None:
        logits = np.where(mask, logits, -np.inf)
    highest = logits.max(axis=-1, keepdims=True)
    exponentials = np.exp(logits - np.where(np.isneginf(highest), 0, highest))
    total = exponentials.sum(axis=-1, keepdims=True)
    # Divided after the values are averaged, not before.
    return ((exponentials @ value) / np.where(total == 0, 1, total)).astype(query.dtype)
