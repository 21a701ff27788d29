"""Attention in blocks of keys, as a kernel's author tries it out in NumPy."""

import numpy as np

BLOCK = 16


def scaled_dot_product_attention(queries, keys, values, mask=None):
    b, h, l, d = queries.shape
    s = keys.shape[2]
    missing = (-s) % BLOCK
    keys = np.concatenate([keys, np.zeros((b, h, missing, d), keys.dtype)], axis=2)
    values = np.concatenate([values, np.zeros((b, h, missing, values.shape[-1]), values.dtype)], axis=2)
    if mask is None:
        mask = np.ones((b, h, l, s), dtype=bool)
    seen = np.zeros((b, h, l, s + missing), dtype=bool)
    seen[..., :s] = mask
    acc = np.zeros((b, h, l, values.shape[-1]))
    high = np.full((b, h, l, 1), -1e38)
    total = np.zeros((b, h, l, 1))
    for start in range(0, s + missing, BLOCK):
        part = slice(start, start + BLOCK)
        z = queries.astype(float) @ keys[:, :, part].swapaxes(-1, -2) / np.sqrt(d)
        z = np.where(seen[..., part], z, -np.inf)
        new = np.maximum(high, z.max(axis=-1, keepdims=True))
        fade = np.exp(high - new)
        p = np.exp(z - new)
        total = total * fade + p.sum(axis=-1, keepdims=True)
        acc = acc * fade + p @ values[:, :, part]
        high = new
    return (acc / np.where(total == 0, 1, total)).astype(queries.dtype)
