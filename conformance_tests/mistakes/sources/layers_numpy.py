"""A correct implementation in NumPy of norms, activations and feed-forward networks; the tests change one line."""

import numpy as np

framework = "numpy"


def layer_norm(x, gamma, beta, *, eps):
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = np.mean(centred**2, axis=-1, keepdims=True)
    return centred / np.sqrt(variance + x.dtype.type(eps)) * gamma + beta


def rms_norm(x, gamma, *, eps):
    square = np.mean(x**2, axis=-1, keepdims=True)
    root = np.sqrt(square + x.dtype.type(eps))
    normalised = x / root
    return normalised * gamma


def gelu(x):
    inner = np.float32(0.7978845608) * (x + np.float32(0.044715) * x**3)
    return (x * (1 + np.tanh(inner)) / 2).astype(x.dtype)


def silu(x):
    with np.errstate(over="ignore"):
        gate = 1 / (1 + np.exp(-x))
    return x * gate


def relu(x):
    return np.maximum(x, 0)


ACTIVATIONS = {"relu": relu, "gelu": gelu, "silu": silu}


def feed_forward(x, weights, *, activation):
    inner = x @ weights.w_1
    if weights.b_1 is not None:
        inner = inner + weights.b_1
    hidden = ACTIVATIONS[activation](inner)
    output = hidden @ weights.w_2
    if weights.b_2 is not None:
        output = output + weights.b_2
    return output


def gated_feed_forward(x, weights, *, activation):
    gate, up = x @ weights.w_gate, x @ weights.w_up
    return (ACTIVATIONS[activation](gate) * up) @ weights.w_down
