"""One query at a time, on its visible keys alone, summed in float64, in NumPy; empty rows give zeros."""

import numpy as np

dtypes = ("float64", "float32", "float16")


def scaled_dot_product_attention(query, key, value, *, mask=None, bias=None, is_causal=False, scale=None):
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    keys = key.shape[-2]
    shape = (*query.shape[:-1], keys)
    visible = np.ones(shape, dtype=bool) if mask is None else np.broadcast_to(mask, shape)
    added = np.zeros(shape) if bias is None else np.broadcast_to(bias, shape).astype(np.float64)
    output = np.zeros((*query.shape[:-1], value.shape[-1]), dtype=query.dtype)
    for index in np.ndindex(query.shape[:-1]):
        sample, head, row = index
        seen = visible[index] & (added[index] != -np.inf)
        if is_causal:
            seen = seen & (np.arange(keys) <= row)
        if seen.any():
            logits = key[sample, head][seen].astype(np.float64) @ query[index].astype(np.float64) * scale
            logits += added[index][seen]
            weights = np.exp(logits - logits.max())
            output[index] = weights @ value[sample, head][seen].astype(np.float64) / weights.sum()
    return output
