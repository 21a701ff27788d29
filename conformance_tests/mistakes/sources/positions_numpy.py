"""Correct position encodings in NumPy; the tests change one line at a time."""

import math

import numpy as np

framework = "numpy"


def rotary_embedding(x, positions, *, base=10000.0, rotary_dim=None):
    width = x.shape[-1] if rotary_dim is None else rotary_dim
    frequencies = base ** (-np.arange(0, width, 2) / width)
    angles = positions[..., None] * frequencies
    angles = angles[:, None] if positions.ndim == 2 else angles
    cos, sin = np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)
    even, odd = x[..., 0:width:2], x[..., 1:width:2]
    turned = np.stack((even * cos - odd * sin, odd * cos + even * sin), axis=-1)
    return np.concatenate((turned.reshape(*x.shape[:-1], width), x[..., width:]), axis=-1)


def slopes_of(num_heads):
    if math.log2(num_heads).is_integer():
        start = 2.0 ** (-8.0 / num_heads)
        return [start ** (head + 1) for head in range(num_heads)]
    power = 2 ** math.floor(math.log2(num_heads))
    return slopes_of(power) + slopes_of(2 * power)[0::2][: num_heads - power]


def alibi_bias(num_heads, query_length, key_length):
    slopes = np.array(slopes_of(num_heads))
    rows = np.arange(key_length - query_length, key_length)
    distance = rows[:, None] - np.arange(key_length)
    return -slopes[:, None, None] * distance


def relative_position_bucket(relative_position, *, bidirectional=True, num_buckets=32, max_distance=128):
    later = 0
    if bidirectional:
        num_buckets //= 2
        later = np.where(relative_position > 0, num_buckets, 0)
        distance = np.abs(relative_position)
    else:
        distance = np.maximum(-relative_position, 0)
    exact = num_buckets // 2
    ratio = np.log(np.maximum(distance, 1) / exact) / math.log(max_distance / exact)
    far = exact + (ratio * (num_buckets - exact)).astype(int)
    far = np.minimum(far, num_buckets - 1)
    return later + np.where(distance < exact, distance, far)
