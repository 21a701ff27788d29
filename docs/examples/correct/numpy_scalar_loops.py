"""Plain loops over numbers, as code that is compiled just in time is written."""

import math

import numpy as np


def softmax(x):
    rows = x.reshape(-1, x.shape[-1])
    out = np.empty_like(rows)
    for i in range(rows.shape[0]):
        largest = rows[i, 0]
        for j in range(rows.shape[1]):
            largest = max(largest, rows[i, j])
        total = 0.0
        for j in range(rows.shape[1]):
            out[i, j] = math.exp(rows[i, j] - largest)
            total += out[i, j]
        for j in range(rows.shape[1]):
            out[i, j] /= total
    return out.reshape(x.shape)


def rms_norm(x, gamma, *, eps):
    rows = x.reshape(-1, x.shape[-1])
    out = np.empty_like(rows)
    for i in range(rows.shape[0]):
        total = 0.0
        for j in range(rows.shape[1]):
            total += float(rows[i, j]) * float(rows[i, j])
        root = 1.0 / math.sqrt(total / rows.shape[1] + eps)
        for j in range(rows.shape[1]):
            out[i, j] = rows[i, j] * root * gamma[j]
    return out.reshape(x.shape)


def alibi_bias(num_heads, query_length, key_length):
    slopes = []
    power = 2 ** math.floor(math.log2(num_heads))
    for head in range(1, power + 1):
        slopes.append(2.0 ** (-8.0 * head / power))
    for head in range(1, 2 * (num_heads - power) + 1, 2):
        slopes.append(2.0 ** (-4.0 * head / power))
    out = np.zeros((num_heads, query_length, key_length), dtype=np.float32)
    for head in range(num_heads):
        for i in range(query_length):
            for j in range(key_length):
                out[head, i, j] = -slopes[head] * (i + key_length - query_length - j)
    return out


def causal_mask(query_length, key_length):
    out = np.zeros((query_length, key_length), dtype=bool)
    for i in range(query_length):
        for j in range(min(i + 1, key_length)):
            out[i, j] = True
    return out
