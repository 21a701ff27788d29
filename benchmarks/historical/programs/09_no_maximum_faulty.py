"""The weights of attention, row by row, as a shader computes them."""

import numpy as np


def attention_weights(query, key, mask=None):
    scale = 1.0 / np.sqrt(query.shape[-1])
    logits = np.einsum("bhld,bhsd->bhls", query, key) * np.asarray(scale, query.dtype)
    if mask is not None:
        logits = np.where(mask, logits, np.asarray(-np.inf, query.dtype))
    exponentials = np.exp(logits)
    return exponentials / exponentials.sum(axis=-1, keepdims=True)
