"""Blocked online softmax in NumPy, 7 keys at a time, rescaled by the running maximum; empty rows give zeros."""

import numpy as np

dtypes = ("float64", "float32", "float16")

BLOCK = 7


def scaled_dot_product_attention(query, key, value, *, mask=None, bias=None, is_causal=False, scale=None):
    dtype = query.dtype
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    rows, keys = (*query.shape[:-1], 1), key.shape[-2]
    work = np.float32 if dtype == np.float16 else dtype
    total, highest = np.zeros(rows, work), np.full(rows, -np.inf, work)
    output = np.zeros((*query.shape[:-1], value.shape[-1]), work)
    for start in range(0, keys, BLOCK):
        block = slice(start, start + BLOCK)
        logits = (query.astype(work) * work(scale) if work is np.float32 else query * dtype.type(scale)) @ key[
            ..., block, :
        ].swapaxes(-1, -2).astype(work)
        if bias is not None:
            logits = logits + np.broadcast_to(bias, (*rows[:-1], keys))[..., block]
        if mask is not None:
            logits = np.where(np.broadcast_to(mask, (*rows[:-1], keys))[..., block], logits, -np.inf)
        if is_causal:
            later = np.arange(keys)[block][None, :] > np.arange(rows[-2])[:, None]
            logits = np.where(later, -np.inf, logits)
        new = np.maximum(highest, logits.max(axis=-1, keepdims=True))
        shift = np.where(np.isneginf(new), 0, new).astype(work)
        rescale, part = np.exp(highest - shift), np.exp(logits - shift)
        total = total * rescale + part.sum(axis=-1, keepdims=True)
        output = output * rescale + part @ value[..., block, :].astype(work)
        highest = new
    return (output / np.where(total == 0, 1, total)).astype(dtype)
