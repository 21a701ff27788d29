"""A correct implementation in NumPy of encoder and decoder layers; the tests change one line of it."""

import math

import numpy as np

framework = "numpy"
conventions = {"gelu_form": "tanh"}


def encoder_layer(x, weights, *, num_heads, norm_first, activation, eps, padding_mask=None):
    visible = seen(x, x, padding_mask)

    def attend(y):
        return multi_head(y, y, weights.self_attention, num_heads, visible)

    def transform(y):
        return network(y, weights.feed_forward, activation)

    x = residual(x, weights.norm_1, attend, norm_first, eps)
    # The second sublayer of an encoder layer.
    return residual(x, weights.norm_2, transform, norm_first, eps)


def decoder_layer(
    x, memory, weights, *, num_heads, norm_first, activation, eps, padding_mask=None, memory_padding_mask=None
):
    visible = seen(x, x, padding_mask) & np.tri(x.shape[1], dtype=bool)
    memory_visible = seen(x, memory, memory_padding_mask)

    def attend(y):
        return multi_head(y, y, weights.self_attention, num_heads, visible)

    def look_up(y):
        return multi_head(y, memory, weights.cross_attention, num_heads, memory_visible)

    def transform(y):
        return network(y, weights.feed_forward, activation)

    x = residual(x, weights.norm_1, attend, norm_first, eps)
    x = residual(x, weights.norm_2, look_up, norm_first, eps)
    return residual(x, weights.norm_3, transform, norm_first, eps)


def seen(x, context, mask):
    real = np.ones(context.shape[:2], dtype=bool) if mask is None else mask
    return np.repeat(real[:, None, None, :], x.shape[1], axis=2)


def residual(x, norm, sublayer, norm_first, eps):
    if norm_first:
        return x + sublayer(normalise(x, norm, eps))
    return normalise(x + sublayer(x), norm, eps)


def normalise(x, norm, eps):
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = np.mean(centred**2, axis=-1, keepdims=True)
    return centred / np.sqrt(variance + x.dtype.type(eps)) * norm.gamma + norm.beta


def multi_head(x, context, weights, num_heads, visible):
    query = split(linear(x, weights.w_q, weights.b_q), num_heads)
    key = split(linear(context, weights.w_k, weights.b_k), num_heads)
    value = split(linear(context, weights.w_v, weights.b_v), num_heads)
    logits = query @ key.swapaxes(-1, -2) / np.float32(math.sqrt(query.shape[-1]))
    # Finite, because a padded query before the first real token sees nothing.
    heads = softmax(np.where(visible, logits, np.finfo(logits.dtype).min)) @ value
    merged = heads.swapaxes(1, 2).reshape(x.shape)
    return linear(merged, weights.w_o, weights.b_o)


def softmax(logits):
    exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def split(x, num_heads):
    return x.reshape(*x.shape[:2], num_heads, -1).swapaxes(1, 2)


def network(x, weights, activation):
    act = {"relu": relu, "gelu": gelu, "silu": silu}[activation]
    return linear(act(linear(x, weights.w_1, weights.b_1)), weights.w_2, weights.b_2)


def linear(x, weight, bias):
    return x @ weight if bias is None else x @ weight + bias


def relu(x):
    return np.maximum(x, 0)


def gelu(x):
    return x * (1 + np.tanh(np.float32(math.sqrt(2 / math.pi)) * (x + np.float32(0.044715) * x**3))) / 2


def silu(x):
    return x * (1 + np.tanh(x / 2)) / 2
