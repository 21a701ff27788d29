"""Attention with linear biases: what is added to the logits."""

import math

import numpy as np


def slopes(num_heads):
    if math.log2(num_heads).is_integer():
        return [2 ** (-8 * (head + 1) / num_heads) for head in range(num_heads)]
    nearest = 2 ** math.floor(math.log2(num_heads))
    return slopes(nearest) + slopes(2 * nearest)[0::2][: num_heads - nearest]


def alibi_bias(num_heads, query_length, key_length):
    queries = np.arange(key_length - query_length, key_length)[:, None]
    distance = np.arange(key_length)[None, :] - queries
    return (np.array(slopes(num_heads))[:, None, None] * -np.abs(distance)).astype(np.float32)
