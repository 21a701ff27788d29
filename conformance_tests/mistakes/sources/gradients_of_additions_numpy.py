"""The gradients of a learned bias and of sinks, written by hand in NumPy."""

import numpy as np

framework = "numpy"

conventions = {"window_counting": "inclusive"}


def weights_of(query, key, mask, bias, is_causal, scale, window, softcap, sinks):
    """Return the weights of the keys and that of the sink, and which keys are seen."""
    logits = (scale * query) @ key.swapaxes(-1, -2)
    if softcap:
        logits = softcap * np.tanh(logits / softcap)
    if bias is not None:
        logits = logits + bias
    visible = logits > -np.inf
    if mask is not None:
        visible = visible & mask
    distance = np.arange(key.shape[2]) - np.arange(query.shape[2])[:, None]
    if is_causal:
        visible = visible & (distance <= 0)
    if window is not None:
        left, right = (None if side in (None, -1) else side for side in window)
        visible = visible if left is None else visible & (distance >= -left)
        visible = visible if right is None else visible & (distance <= right)
    highest = np.max(logits, axis=-1, keepdims=True, initial=-np.inf, where=visible)
    sink = None if sinks is None else sinks[:, None, None]
    if sink is not None:
        highest = np.maximum(highest, sink)
    highest = np.where(highest == -np.inf, 0, highest).astype(query.dtype)
    exponentials = np.exp(np.where(visible, logits - highest, -np.inf))
    total = exponentials.sum(axis=-1, keepdims=True)
    if sink is not None:
        total = total + np.exp(sink - highest)
        return exponentials / total, np.exp(sink - highest) / total, visible
    # A row without a visible key has no weight at all.
    return exponentials / np.where(total == 0, 1, total), None, visible


def attention_bias_backward(
    query, key, value, grad_output, *, bias, mask=None, is_causal=False, scale=None, window=None, softcap=None,
    sinks=None,
):  # fmt: skip
    scale = np.asarray(1 / np.sqrt(query.shape[-1]) if scale is None else scale, dtype=query.dtype)
    weights, _, visible = weights_of(query, key, mask, bias, is_causal, scale, window, softcap, sinks)
    grad_weights = np.where(visible, grad_output @ value.swapaxes(-1, -2), 0)
    grad_logits = weights * (grad_weights - (weights * grad_weights).sum(axis=-1, keepdims=True))
    grad_logits = grad_logits.astype(query.dtype)
    shape = (1,) * (4 - bias.ndim) + bias.shape
    shared = tuple(axis for axis in range(4) if shape[axis] == 1)
    return grad_logits.sum(axis=shared, keepdims=True).reshape(bias.shape)


def attention_sinks_backward(
    query, key, value, grad_output, *, sinks, mask=None, bias=None, is_causal=False, scale=None, window=None,
    softcap=None,
):  # fmt: skip
    scale = np.asarray(1 / np.sqrt(query.shape[-1]) if scale is None else scale, dtype=query.dtype)
    weights, of_sink, visible = weights_of(query, key, mask, bias, is_causal, scale, window, softcap, sinks)
    output = np.where(visible, weights, 0) @ value
    gradients = -of_sink[..., 0] * (grad_output * output).sum(axis=-1)
    return gradients.sum(axis=(0, 2)).astype(query.dtype)
