"""As a first attempt is written: one loop for each index."""

import math

import numpy as np


def causal_mask(query_length, key_length):
    mask = np.zeros((query_length, key_length), dtype=bool)
    for i in range(query_length):
        for j in range(key_length):
            mask[i, j] = j <= i
    return mask


def padding_mask(lengths, max_length):
    mask = np.zeros((len(lengths), max_length), dtype=bool)
    for sample, length in enumerate(lengths):
        mask[sample, :length] = True
    return mask


def single_head_attention(x, weights, *, mask=None):
    query, key, value = x @ weights.w_q, x @ weights.w_k, x @ weights.w_v
    output = np.zeros_like(value)
    shown = np.broadcast_to(True if mask is None else mask, (len(x), x.shape[1], x.shape[1]))
    for b in range(len(x)):
        for i in range(x.shape[1]):
            seen = [j for j in range(x.shape[1]) if shown[b, i, j]]
            if not seen:
                continue
            scores = [float(query[b, i] @ key[b, j]) / math.sqrt(query.shape[-1]) for j in seen]
            shares = [math.exp(score - max(scores)) for score in scores]
            for share, j in zip(shares, seen, strict=True):
                output[b, i] += value[b, j] * x.dtype.type(share / sum(shares))
    return output


def sinusoidal_positions(length, d_model):
    table = np.zeros((length, d_model))
    for position in range(length):
        for i in range(0, d_model, 2):
            angle = position / 10000 ** (i / d_model)
            table[position, i] = math.sin(angle)
            table[position, i + 1] = math.cos(angle)
    return table


def gated_feed_forward(x, weights, *, activation):
    gate, up = x @ weights.w_gate, x @ weights.w_up
    if activation == "relu":
        gate = gate * (gate > 0)
    elif activation == "silu":
        gate = gate * (0.5 * (1 + np.tanh(gate / 2)))
    else:
        gate = (gate * 0.5 * (1 + np.vectorize(math.erf)(gate / math.sqrt(2)))).astype(x.dtype)
    return (gate * up) @ weights.w_down


def merge_attention(output_a, lse_a, output_b, lse_b):
    output, lse = np.zeros_like(output_a), np.full_like(lse_a, -np.inf)
    for index in np.ndindex(lse_a.shape):
        parts = [(lse_a[index], output_a[index]), (lse_b[index], output_b[index])]
        parts = [part for part in parts if part[0] > -np.inf]
        if not parts:
            continue
        highest = max(part[0] for part in parts)
        shares = [np.exp(part[0] - highest) for part in parts]
        lse[index] = highest + np.log(sum(shares))
        output[index] = sum(share * part[1] for share, part in zip(shares, parts, strict=True)) / sum(shares)
    return output, lse
