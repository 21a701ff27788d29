"""A correct implementation in NumPy; the tests change one line at a time."""

import numpy as np

framework = "numpy"


def softmax(x):
    highest = x.max(axis=-1, keepdims=True)
    exponentials = np.exp(x - highest)
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def attention_weights(query, key, *, mask=None, bias=None, is_causal=False, scale=None):
    scale = 1.0 / np.sqrt(query.shape[-1]) if scale is None else scale
    logits = (query @ key.swapaxes(-1, -2)) * query.dtype.type(scale)
    if bias is not None:
        logits = logits + bias
    if is_causal:
        rows, columns = np.ogrid[: logits.shape[-2], : logits.shape[-1]]
        logits = np.where(columns <= rows, logits, -np.inf)
    if mask is not None:
        logits = np.where(mask, logits, -np.inf)
    highest = np.max(logits, axis=-1, keepdims=True)
    highest = np.where(np.isfinite(highest), highest, 0.0)
    exponentials = np.exp(logits - highest)
    total = exponentials.sum(axis=-1, keepdims=True)
    weights = exponentials / np.where(total == 0.0, 1.0, total)
    return weights.astype(query.dtype)


def scaled_dot_product_attention(query, key, value, *, mask=None, bias=None, is_causal=False, scale=None):
    return attention_weights(query, key, mask=mask, bias=bias, is_causal=is_causal, scale=scale) @ value


def grouped_query_attention(query, key, value, *, mask=None, bias=None, is_causal=False, scale=None):
    group = query.shape[1] // key.shape[1]
    key, value = np.repeat(key, group, axis=1), np.repeat(value, group, axis=1)
    return scaled_dot_product_attention(query, key, value, mask=mask, bias=bias, is_causal=is_causal, scale=scale)


def multi_head_attention(x, context, weights, *, num_heads, mask=None, is_causal=False):
    def project(tokens, weight, bias):
        projected = tokens @ weight if bias is None else tokens @ weight + bias
        return projected.reshape(*projected.shape[:2], num_heads, -1).swapaxes(1, 2)

    query = project(x, weights.w_q, weights.b_q)
    key = project(context, weights.w_k, weights.b_k)
    value = project(context, weights.w_v, weights.b_v)
    heads = scaled_dot_product_attention(query, key, value, mask=mask, is_causal=is_causal)
    merged = heads.swapaxes(1, 2).reshape(x.shape[0], x.shape[1], -1)
    output = merged @ weights.w_o
    return output if weights.b_o is None else output + weights.b_o


def causal_mask(query_length, key_length):
    return np.tri(query_length, key_length, dtype=bool)


def padding_mask(lengths, max_length):
    return np.arange(max_length) < lengths[:, None]


def sinusoidal_positions(length, d_model):
    table = np.zeros((length, d_model))
    for column in range(0, d_model, 2):
        angle = np.arange(length) / 10000.0 ** (column / d_model)
        table[:, column] = np.sin(angle)
        table[:, column + 1] = np.cos(angle)
    return table
