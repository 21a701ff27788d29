"""A correct attention in NumPy that goes through the keys in blocks, as fused kernels do; the tests change a line."""

import numpy as np

framework = "numpy"

conventions = {"causal_alignment": "bottom_right", "empty_row": "zeros", "window_counting": "inclusive"}
# A kernel takes 64 keys or more; with two a short sequence has a whole block and a rest.
BLOCK = 2


def scaled_dot_product_attention(query, key, value, *, mask=None, bias=None, is_causal=False, scale=None, window=None):
    queries, keys = query.shape[2], key.shape[2]
    scale = query.dtype.type(query.shape[-1] ** -0.5 if scale is None else scale)
    rows = np.arange(queries)[:, None] + keys - queries
    highest = np.full((*query.shape[:3], 1), -np.inf, dtype=query.dtype)
    total = np.zeros_like(highest)
    output = np.zeros((*query.shape[:3], value.shape[-1]), dtype=query.dtype)
    for start in range(0, keys, BLOCK):
        columns = np.arange(start, min(start + BLOCK, keys))
        logits = query @ key[:, :, columns].swapaxes(-1, -2) * scale
        visible = near(rows, columns, is_causal, window)
        if bias is not None:
            logits = logits + of_block(bias, columns)
        if mask is not None:
            visible = visible & of_block(mask, columns)
        logits = np.where(visible, logits, -np.inf)
        raised = np.maximum(highest, logits.max(axis=-1, keepdims=True))
        # Where nothing has been visible yet there is nothing to subtract.
        base = np.where(np.isneginf(raised), 0, raised).astype(query.dtype)
        exponentials, correction = np.exp(logits - base), np.exp(highest - base)
        total = total * correction + exponentials.sum(axis=-1, keepdims=True)
        output = output * correction + exponentials @ value[:, :, columns]
        highest = raised
    return output / np.where(total == 0, 1, total)


def near(rows, columns, is_causal, window):
    visible = np.ones((len(rows), len(columns)), dtype=bool)
    if is_causal:
        visible &= columns <= rows
    if window is not None:
        left, right = window
        if left not in (None, -1):
            visible &= rows - columns <= left
        if right not in (None, -1):
            visible &= columns - rows <= right
    return visible


def of_block(table, columns):
    return table if table.shape[-1] == 1 else table[..., columns]


def grouped_query_attention(query, key, value, *, mask=None, is_causal=False, scale=None):
    owner = np.arange(query.shape[1]) // (query.shape[1] // key.shape[1])
    key, value = key[:, owner], value[:, owner]
    return scaled_dot_product_attention(query, key, value, mask=mask, is_causal=is_causal, scale=scale)


def attention_weights(query, key, *, mask=None, bias=None, is_causal=False, scale=None):
    # Kernels keep no weights: whoever asks for them is answered the slow way.
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    logits = query @ key.swapaxes(-1, -2) * query.dtype.type(scale)
    rows = np.arange(logits.shape[-2])[:, None] + logits.shape[-1] - logits.shape[-2]
    visible = near(rows, np.arange(logits.shape[-1]), is_causal, None)
    logits = logits if bias is None else logits + bias
    logits = np.where(visible if mask is None else visible & mask, logits, -np.inf)
    highest = logits.max(axis=-1, keepdims=True)
    exponentials = np.exp(logits - np.where(np.isneginf(highest), 0, highest))
    total = exponentials.sum(axis=-1, keepdims=True)
    return (exponentials / np.where(total == 0, 1, total)).astype(query.dtype)
