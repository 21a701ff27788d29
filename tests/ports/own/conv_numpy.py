"""The convolutional mixer in NumPy: a sum of shifted products in place of a convolution."""

import conv_torch as source
import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


class Layer:
    def __init__(self, state, prefix, dilation):
        self.gain, self.shift = state[prefix + "norm.weight"], state[prefix + "norm.bias"]
        self.taps = state[prefix + "depthwise.weight"][:, 0, :].T.copy()
        self.taps_bias = state[prefix + "depthwise.bias"]
        wide, bias = state[prefix + "wide.weight"], state[prefix + "wide.bias"]
        self.filter, self.gate = (part.T.copy() for part in np.split(wide, 2))
        self.filter_bias, self.gate_bias = (part.copy() for part in np.split(bias, 2))
        self.narrow = state[prefix + "narrow.weight"].T.copy()
        self.narrow_bias = state[prefix + "narrow.bias"]
        self.scale = state[prefix + "scale"]
        self.dilation = dilation

    def normed(self, x):
        mean = x.mean(-1, keepdims=True)
        var = x.var(-1, keepdims=True)
        return (x - mean) / np.sqrt(var + 1e-5) * self.gain + self.shift

    def convolved(self, x):
        taps = len(self.taps)
        past = self.dilation * (taps - 1)
        padded = np.concatenate([np.zeros((x.shape[0], past, x.shape[2]), x.dtype), x], axis=1)
        y = self.taps_bias
        for i in range(taps):
            start = i * self.dilation
            y = y + padded[:, start : start + x.shape[1]] * self.taps[i]
        return y

    def __call__(self, x):
        y = self.convolved(self.normed(x))
        y = np.tanh(y @ self.filter + self.filter_bias) * sigmoid(y @ self.gate + self.gate_bias)
        return x + (y @ self.narrow + self.narrow_bias) * self.scale


class Mixer:
    def __init__(self, state, layers):
        self.stem, self.stem_bias = state["stem.weight"].T.copy(), state["stem.bias"]
        self.layers = [Layer(state, f"layers.{i}.", 2**i) for i in range(layers)]
        self.head, self.head_bias = state["head.weight"].T.copy(), state["head.bias"]

    def __call__(self, x):
        x = x @ self.stem + self.stem_bias
        for layer in self.layers:
            x = layer(x)
        return np.maximum(x, 0).mean(axis=1) @ self.head + self.head_bias


def build():
    state = {name: value.numpy().copy() for name, value in source.build().state_dict().items()}
    return Mixer(state, source.N)


def inputs():
    return source.inputs().numpy()
