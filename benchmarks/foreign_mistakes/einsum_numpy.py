"""Attention as a NumPy user writes it with einsum."""

import numpy as np


def scaled_dot_product_attention(q, k, v, mask=None, is_causal=False):
    logits = np.einsum("...td,...sd->...ts", q, k) * q.shape[-1] ** -0.5
    t, s = logits.shape[-2:]
    allowed = np.ones((t, s), dtype=bool)
    if is_causal:
        allowed = np.arange(s)[None, :] <= np.arange(t)[:, None]
    if mask is not None:
        allowed = allowed & mask
    logits = np.where(allowed, logits, -np.inf)
    top = logits.max(axis=-1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0)
    expo = np.exp(logits - top)
    norm = expo.sum(axis=-1, keepdims=True)
    probs = expo / np.where(norm == 0, 1, norm)
    return np.einsum("...ts,...sd->...td", probs, v).astype(q.dtype)


def grouped_query_attention(q, k, v, mask=None, is_causal=False):
    b, heads, t, d = q.shape
    groups = k.shape[1]
    folded = q.reshape(b, groups, heads // groups, t, d)
    logits = np.einsum("bgrtd,bgsd->bgrts", folded, k) / np.sqrt(d)
    logits = logits.reshape(b, heads, t, -1)
    if is_causal:
        logits = np.where(np.tri(t, logits.shape[-1], dtype=bool), logits, -np.inf)
    if mask is not None:
        logits = np.where(mask, logits, -np.inf)
    expo = np.exp(logits - np.maximum(logits.max(-1, keepdims=True), -1e30))
    probs = expo / np.maximum(expo.sum(-1, keepdims=True), 1e-38)
    probs = probs.reshape(b, groups, heads // groups, t, -1)
    return np.einsum("bgrts,bgsd->bgrtd", probs, v).reshape(b, heads, t, v.shape[-1]).astype(q.dtype)


def alibi_bias(num_heads, query_length, key_length):
    def powers(n):
        return [2.0 ** (-8.0 * (i + 1) / n) for i in range(n)]

    near = 2 ** int(np.floor(np.log2(num_heads)))
    slopes = powers(near) + powers(2 * near)[0::2][: num_heads - near]
    distance = np.arange(key_length)[None, :] - (np.arange(query_length)[:, None] + key_length - query_length)
    return np.array(slopes)[:, None, None] * distance
