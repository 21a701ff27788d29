"""Correct decoding with positions and a padding mask, in NumPy; the tests change one line at a time."""

from math import erf

import numpy as np

framework = "numpy"

architectures = {"decode_step": ("gpt", "llama")}
conventions = {"rotary_pairing": "interleaved"}
dtypes = ("float32", "float64")


def decode_step(tokens, cache, weights, config, *, positions=None, padding_mask=None):
    batch, length = tokens.shape
    start = 0 if cache is None else cache[0][0].shape[2]
    columns = np.arange(start, start + length)
    positions = np.broadcast_to(columns if positions is None else positions, (batch, length))
    seen = np.arange(start + length) <= columns[:, None]
    seen = seen & np.ones((batch, 1, 1, start + length), dtype=bool)
    if padding_mask is not None:
        seen = seen & padding_mask[:, None, None, :]
    x = weights.embedding[tokens]
    if config.positions == "learned":
        x = x + weights.positions[positions]
    known = []
    for number, layer in enumerate(weights.layers):
        past = None if cache is None else cache[number]
        attended, both = attention(norm(x, layer.norm_1, config), layer.self_attention, config, positions, seen, past)
        known.append(both)
        x = x + attended
        x = x + network(norm(x, layer.norm_2, config), layer.feed_forward, config)
    x = norm(x, weights.final_norm, config)
    logits = x @ (weights.embedding.T if weights.unembedding is None else weights.unembedding)
    return logits.astype(weights.embedding.dtype), tuple(known)


def attention(x, weights, config, positions, seen, past):
    query = heads(x, weights.w_q, weights.b_q, config.num_heads)
    key = heads(x, weights.w_k, weights.b_k, config.num_kv_heads)
    value = heads(x, weights.w_v, weights.b_v, config.num_kv_heads)
    if config.positions == "rotary":
        query, key = (turn(part, positions, config.rotary_base) for part in (query, key))
    if past is not None:
        key, value = (np.concatenate(parts, axis=2) for parts in zip(past, (key, value), strict=True))
    group = config.num_heads // config.num_kv_heads
    scores = query @ np.repeat(key, group, axis=1).swapaxes(-1, -2) / np.sqrt(query.dtype.type(query.shape[-1]))
    # A finite number, so that padded rows stay finite.
    scores = np.where(seen, scores, -1e30)
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    mixed = powers / powers.sum(axis=-1, keepdims=True) @ np.repeat(value, group, axis=1)
    output = mixed.swapaxes(1, 2).reshape(x.shape) @ weights.w_o
    return (output if weights.b_o is None else output + weights.b_o), (key, value)


def heads(x, weight, bias, count):
    projected = x @ weight if bias is None else x @ weight + bias
    return projected.reshape(*x.shape[:2], count, -1).swapaxes(1, 2)


def turn(x, positions, base):
    frequencies = base ** (-np.arange(0, x.shape[-1], 2) / x.shape[-1])
    turned = x.reshape(*x.shape[:-1], -1, 2) @ np.array([1, 1j])
    turned = turned * np.exp(1j * positions[:, None, :, None] * frequencies)
    return np.stack([turned.real, turned.imag], axis=-1).reshape(x.shape).astype(x.dtype)


def network(x, weights, config):
    if config.gated:
        gate = x @ weights.w_gate
        return (gate / (1 + np.exp(-gate)) * (x @ weights.w_up)) @ weights.w_down
    hidden = x @ weights.w_1 + weights.b_1
    return (hidden * (1 + np.vectorize(erf)(hidden / np.sqrt(2))) / 2).astype(x.dtype) @ weights.w_2 + weights.b_2


def norm(x, weights, config):
    if config.norm == "rms_norm":
        return (x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + config.eps) * weights.gamma).astype(x.dtype)
    centred = x - x.mean(axis=-1, keepdims=True)
    scaled = centred / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + config.eps)
    return (scaled * weights.gamma + weights.beta).astype(x.dtype)
