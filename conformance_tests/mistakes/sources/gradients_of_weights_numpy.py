"""The backward pass of attention's weights, written by hand in NumPy."""

import numpy as np

framework = "numpy"


def attention_weights_backward(query, key, grad_output, *, mask=None, is_causal=False, scale=None):
    scale = 1.0 / np.sqrt(query.shape[-1]) if scale is None else scale
    scale = np.asarray(scale, dtype=query.dtype)
    logits = scale * (query @ key.swapaxes(-1, -2))
    visible = np.ones(logits.shape, dtype=bool) if mask is None else np.broadcast_to(mask, logits.shape)
    if is_causal:
        visible = np.tril(visible)
    highest = np.max(logits, axis=-1, keepdims=True, initial=-np.inf, where=visible)
    exponentials = np.exp(np.where(visible, logits - highest, -np.inf))
    total = exponentials.sum(axis=-1, keepdims=True)
    # A row without a visible key has no weight at all.
    weights = exponentials / np.where(total == 0.0, 1.0, total)
    grad_logits = weights * (grad_output - (weights * grad_output).sum(axis=-1, keepdims=True))
    grad_query = scale * (grad_logits @ key)
    grad_key = scale * (grad_logits.swapaxes(-1, -2) @ query)
    return grad_query, grad_key
