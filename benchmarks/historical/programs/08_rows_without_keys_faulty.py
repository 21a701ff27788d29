"""Attention in NumPy, what runs where there is no fast path."""

import numpy as np


def attention_fallback(query, key, value, mask=None, is_causal=False):
    """mask: True where a key may be seen."""
    scores = query @ np.swapaxes(key, -1, -2) / np.float32(np.sqrt(query.shape[-1]))
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    if is_causal:
        rows, columns = scores.shape[-2:]
        scores = np.where(np.tri(rows, columns, columns - rows, dtype=bool), scores, -np.inf)
    top = scores.max(axis=-1, keepdims=True)
    e = np.exp(scores - top)
    total = e.sum(axis=-1, keepdims=True)
    weights = e / total
    return (weights @ value).astype(query.dtype)
