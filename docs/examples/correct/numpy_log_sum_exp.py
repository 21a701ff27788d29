"""Weights as exponentials of logits less their log-sum-exp, in NumPy; empty rows give NaN, as −∞ − (−∞) does."""

import numpy as np

dtypes = ("float64", "float32", "float16")


def scaled_dot_product_attention(query, key, value, *, mask=None, bias=None, is_causal=False, scale=None):
    factor = query.dtype.type(query.shape[-1] ** -0.5 if scale is None else scale)
    logits = (query * factor) @ key.swapaxes(-1, -2)
    if bias is not None:
        logits = logits + bias
    if is_causal:
        logits = np.where(np.tri(*logits.shape[-2:], dtype=bool), logits, -np.inf)
    if mask is not None:
        logits = np.where(mask, logits, -np.inf)
    # In float16 the logarithm of the normaliser would be too coarse.
    logits = logits.astype(np.promote_types(query.dtype, np.float32))
    with np.errstate(all="ignore"):
        highest = logits.max(axis=-1, keepdims=True)
        lse = highest + np.log(np.exp(logits - highest).sum(axis=-1, keepdims=True))
        weights = np.exp(logits - lse).astype(query.dtype)
    return weights @ value
