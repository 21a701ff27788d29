"""Correct weights of attention with windows, soft caps and sinks, in NumPy; the tests change one line at a time."""

import numpy as np

framework = "numpy"

conventions = {"window_counting": "inclusive"}


def attention_weights(
    query, key, *, mask=None, bias=None, is_causal=False, scale=None, window=None, softcap=None, sinks=None
):
    scale = 1.0 / np.sqrt(query.shape[-1]) if scale is None else scale
    scores = np.einsum("bhid,bhjd->bhij", query, key) * query.dtype.type(scale)
    if softcap:
        scores = (softcap * np.tanh(scores / softcap)).astype(query.dtype)
    if bias is not None:
        scores = scores + bias
    ahead = np.arange(key.shape[2]) - np.arange(query.shape[2])[:, None]
    hidden = np.zeros(ahead.shape, dtype=bool)
    if is_causal:
        hidden = hidden | (ahead > 0)
    before, after = window or (None, None)
    if before not in (None, -1):
        hidden = hidden | (-ahead > before)
    if after not in (None, -1):
        hidden = hidden | (ahead > after)
    if mask is not None:
        hidden = hidden | ~mask
    scores = np.where(hidden, -np.inf, scores)
    highest = scores.max(axis=-1, keepdims=True)
    if sinks is not None:
        highest = np.maximum(highest, sinks[:, None, None])
    highest = np.where(np.isneginf(highest), 0.0, highest).astype(query.dtype)
    powers = np.exp(scores - highest)
    total = powers.sum(axis=-1, keepdims=True)
    if sinks is not None:
        total = total + np.exp(sinks[:, None, None] - highest)
    return (powers / np.where(total == 0.0, 1.0, total)).astype(query.dtype)
