"""The gradients of grouped-query attention, written by hand in NumPy."""

import numpy as np

framework = "numpy"


def grouped_query_attention_backward(query, key, value, grad_output, *, mask=None, is_causal=False, scale=None):
    batch, heads, queries, width = query.shape
    groups, keys = key.shape[1], key.shape[2]
    size = heads // groups
    scale = query.dtype.type(width**-0.5 if scale is None else scale)
    visible = np.ones((batch, heads, queries, keys), dtype=bool) if mask is None else mask
    if is_causal:
        visible = visible & np.tri(queries, keys, dtype=bool)
    key_heads, value_heads = np.repeat(key, size, axis=1), np.repeat(value, size, axis=1)
    logits = np.where(visible, scale * (query @ key_heads.swapaxes(-1, -2)), -np.inf)
    highest = logits.max(axis=-1, keepdims=True)
    exponentials = np.exp(logits - np.where(np.isfinite(highest), highest, 0))
    weights = exponentials / np.maximum(exponentials.sum(axis=-1, keepdims=True), np.finfo(query.dtype).tiny)
    grad_weights = grad_output @ value_heads.swapaxes(-1, -2)
    average = (weights * grad_weights).sum(axis=-1, keepdims=True)
    grad_logits = weights * (grad_weights - average)
    grad_query = scale * (grad_logits @ key_heads)
    # Each query head has gradients of its own for the heads that it reads: they add up.
    grad_keys = scale * (grad_logits.swapaxes(-1, -2) @ query)
    grad_values = weights.swapaxes(-1, -2) @ grad_output
    grad_key = grad_keys.reshape(batch, groups, size, keys, -1).sum(axis=2)
    grad_value = grad_values.reshape(batch, groups, size, keys, -1).sum(axis=2)
    return grad_query, grad_key, grad_value
