"""
Assignment 2, part B: a Transformer encoder in plain numpy.
No loops over tokens or heads, please.
"""
import numpy as np


def sinusoidal_encoding(seq_len, d_model):
    """PE[pos, 2i] = sin(pos / 10000^(2i/d_model)), PE[pos, 2i+1] = cos(pos / 10000^(2i/d_model))"""
    pos = np.arange(seq_len)[:, None]
    i = np.arange(0, d_model, 2)[None, :]
    angles = pos / 10000 ** (2 * i / d_model)
    pe = np.zeros((seq_len, d_model))
    pe[:, 0::2] = np.sin(angles)
    pe[:, 1::2] = np.cos(angles[:, : d_model // 2])
    return pe


def relu(x):
    return np.maximum(x, 0)


def positionwise_ffn(x, W1, b1, W2, b2):
    """x (..., d_model), W1 (d_model, d_ff), W2 (d_ff, d_model)"""
    return relu(x @ W1 + b1) @ W2 + b2


def layernorm(x, gain, bias, eps=1e-6):
    """Over the features of each token."""
    centered = x - x.mean(-1, keepdims=True)
    return gain * centered / np.sqrt((centered**2).mean(-1, keepdims=True) + eps) + bias
