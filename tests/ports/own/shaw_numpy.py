"""Attention with relative positions in NumPy: heads last, scores per distance first."""

import numpy as np
import shaw_torch as source

H, M, E = source.H, source.M, source.E


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def norm(x, gain, shift):
    mean, var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) / np.sqrt(var + 1e-5) * gain + shift


class Attention:
    def __init__(self, own):
        kernel, bias = own["qkv.weight"].T, own["qkv.bias"]
        self.q, self.k, self.v = (part.reshape(-1, H, E) for part in np.split(kernel, 3, axis=1))
        self.bq, self.bk, self.bv = (part.reshape(H, E) for part in np.split(bias, 3))
        self.o, self.bo = own["out.weight"].T.reshape(H, E, -1), own["out.bias"]
        self.keys, self.values = own["near_keys.weight"], own["near_values.weight"]

    def __call__(self, x):
        t = x.shape[1]
        q = (np.einsum("btd,dhe->bthe", x, self.q) + self.bq) / np.sqrt(E)
        k = np.einsum("btd,dhe->bthe", x, self.k) + self.bk
        v = np.einsum("btd,dhe->bthe", x, self.v) + self.bv
        gap = np.clip(np.arange(t) - np.arange(t)[:, None], -M, M) + M
        content = np.einsum("bihe,bjhe->bhij", q, k)
        position = np.einsum("bihe,ije->bhij", q, self.keys[gap])
        weights = softmax(content + position)
        y = np.einsum("bhij,bjhe->bihe", weights, v)
        y = y + np.einsum("bhij,ije->bihe", weights, self.values[gap])
        return np.einsum("bihe,hed->bid", y, self.o) + self.bo


class Layer:
    def __init__(self, own):
        self.attention = Attention({name[10:]: value for name, value in own.items() if name.startswith("attention.")})
        self.first = own["norm.weight"], own["norm.bias"]
        self.second = own["last.weight"], own["last.bias"]
        self.wide, self.bwide = own["wide.weight"].T.copy(), own["wide.bias"]
        self.narrow, self.bnarrow = own["narrow.weight"].T.copy(), own["narrow.bias"]

    def __call__(self, x):
        x = norm(x + self.attention(x), *self.first)
        return norm(x + np.maximum(x @ self.wide + self.bwide, 0) @ self.narrow + self.bnarrow, *self.second)


class Encoder:
    def __init__(self, table, layers):
        self.table, self.layers = table, layers

    def __call__(self, ids):
        x = self.table[ids]
        for layer in self.layers:
            x = layer(x)
        return x


def build():
    state = {name: value.numpy().copy() for name, value in source.build().state_dict().items()}
    layers = [
        Layer({name[9:]: value for name, value in state.items() if name.startswith(f"layers.{i}.")})
        for i in range(source.N)
    ]
    return Encoder(state["words.weight"], layers)


def inputs():
    return source.inputs().numpy()
