"""A correct attention with windows, soft caps and sinks, and merging, in NumPy; the tests change one line at a time."""

import numpy as np

framework = "numpy"

conventions = {"window_counting": "inclusive"}


def scaled_dot_product_attention(
    query, key, value, *, mask=None, bias=None, is_causal=False, scale=None, window=None, softcap=None, sinks=None
):
    queries, keys = query.shape[-2], key.shape[-2]
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    logits = query @ key.swapaxes(-1, -2) * query.dtype.type(scale)
    if softcap:
        logits = (softcap * np.tanh(logits / softcap)).astype(query.dtype)
    if bias is not None:
        logits = logits + bias
    distance = np.arange(queries)[:, None] - np.arange(keys)
    visible = np.ones((queries, keys), dtype=bool)
    if is_causal:
        visible &= distance >= 0
    left, right = (None, None) if window is None else window
    if left not in (None, -1):
        visible &= distance <= left
    if right not in (None, -1):
        visible &= -distance <= right
    if mask is not None:
        visible = visible & mask
    logits = np.where(visible, logits, -np.inf)
    if sinks is not None:
        column = np.broadcast_to(sinks[:, None, None], (*logits.shape[:-1], 1))
        logits = np.concatenate([logits, column], axis=-1)
    highest = np.max(logits, axis=-1, keepdims=True)
    exponentials = np.exp(logits - np.where(np.isfinite(highest), highest, 0.0))
    total = exponentials.sum(axis=-1, keepdims=True)
    weights = exponentials / np.where(total == 0.0, 1.0, total)
    return (weights[..., :keys] @ value).astype(query.dtype)


def grouped_query_attention(
    query, key, value, *, mask=None, bias=None, is_causal=False, scale=None, window=None, softcap=None, sinks=None
):
    group = query.shape[1] // key.shape[1]
    options = {"mask": mask, "bias": bias, "is_causal": is_causal, "scale": scale}
    options |= {"window": window, "softcap": softcap, "sinks": sinks}
    return scaled_dot_product_attention(query, np.repeat(key, group, 1), np.repeat(value, group, 1), **options)


def merge_attention(output_a, lse_a, output_b, lse_b):
    highest = np.maximum(lse_a, lse_b)
    highest = np.where(np.isneginf(highest), 0.0, highest).astype(lse_a.dtype)
    weight_a, weight_b = np.exp(lse_a - highest), np.exp(lse_b - highest)
    total = weight_a + weight_b
    with np.errstate(divide="ignore"):
        lse = highest + np.log(total)
    shared = np.where(total == 0.0, 1.0, total).astype(total.dtype)
    output = (weight_a / shared)[..., None] * output_a + (weight_b / shared)[..., None] * output_b
    return output, lse
