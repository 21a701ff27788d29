"""A mask that puts the smallest finite number in place of a logit, in NumPy: empty rows give the mean of all values."""

import numpy as np

dtypes = ("float64", "float32", "float16")


def scaled_dot_product_attention(query, key, value, *, mask=None, bias=None, is_causal=False, scale=None):
    dtype = query.dtype
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    logits = query * dtype.type(scale) @ key.swapaxes(-1, -2)
    lowest = np.finfo(dtype).min
    if bias is not None:
        logits = np.maximum(logits + bias, lowest)
    if is_causal:
        logits = np.where(np.tri(*logits.shape[-2:], dtype=bool), logits, lowest)
    if mask is not None:
        logits = np.where(mask, logits, lowest)
    exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True) @ value
