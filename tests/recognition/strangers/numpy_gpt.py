"""A GPT of single sequences in NumPy, without modules, that divides its logits by the root of the whole width."""

import numpy as np


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def norm(x, g, b):
    return g * (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) + b


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


class Tiny:
    def __init__(self, d=24, h=4, layers=2, vocabulary=50, context=32):
        r = np.random.default_rng(0)
        self.h = h
        self.E, self.P = r.normal(size=(vocabulary, d)) * 0.1, r.normal(size=(context, d)) * 0.1
        shapes = {"Wqkv": (d, 3 * d), "Wo": (d, d), "W1": (d, 4 * d), "c1": (4 * d,), "W2": (4 * d, d), "c2": (d,)}
        norms = {"g1": (d,), "b1": (d,), "g2": (d,), "b2": (d,)}
        self.L = [{name: r.normal(size=one) * 0.1 for name, one in {**shapes, **norms}.items()} for _ in range(layers)]
        self.gf, self.bf = np.ones(d), np.zeros(d)

    def __call__(self, ids):
        x = self.E[ids] + self.P[: len(ids)]
        for p in self.L:
            q, k, v = np.split(norm(x, p["g1"], p["b1"]) @ p["Wqkv"], 3, -1)
            length, d = q.shape
            q, k, v = (a.reshape(length, self.h, d // self.h).transpose(1, 0, 2) for a in (q, k, v))
            s = q @ k.transpose(0, 2, 1) / np.sqrt(d)
            s = np.where(np.tril(np.ones((length, length), bool)), s, -np.inf)
            x = x + (softmax(s) @ v).transpose(1, 0, 2).reshape(length, d) @ p["Wo"]
            x = x + gelu(norm(x, p["g2"], p["b2"]) @ p["W1"] + p["c1"]) @ p["W2"] + p["c2"]
        return norm(x, self.gf, self.bf) @ self.E.T
