"""GPT-2 for inference in NumPy: one matrix for each head, no framework."""

import gpt2_hf
import numpy as np


def layer_norm(x, gain, bias, eps=1e-5):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt(np.mean(centred**2, axis=-1, keepdims=True) + eps) * gain + bias


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


class Heads:
    """Causal self-attention. The kernels of query, key and value are (H, E, D), the output's is (H, D, E)."""

    def __init__(self, wq, wk, wv, bq, bk, bv, wo, bo):
        self.wq, self.wk, self.wv = wq, wk, wv
        self.bq, self.bk, self.bv = bq, bk, bv
        self.wo, self.bo = wo, bo

    def __call__(self, x):
        length = x.shape[1]
        y = x[:, None]
        q = y @ self.wq + self.bq[:, None]
        k = y @ self.wk + self.bk[:, None]
        v = y @ self.wv + self.bv[:, None]
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
        hidden = np.triu(np.ones((length, length), dtype=bool), k=1)
        weights = softmax(np.where(hidden, -1e10, scores))
        return (weights @ v @ self.wo).sum(axis=1) + self.bo


class Layer:
    def __init__(self, heads, norm1, norm2, up, bup, down, bdown):
        self.heads = heads
        self.norm1, self.norm2 = norm1, norm2
        self.up, self.bup, self.down, self.bdown = up, bup, down, bdown

    def __call__(self, x):
        x = x + self.heads(layer_norm(x, *self.norm1))
        y = layer_norm(x, *self.norm2)
        return x + gelu(y @ self.up + self.bup) @ self.down + self.bdown


class GPT2:
    def __init__(self, tokens, places, layers, last):
        self.tokens, self.places, self.layers, self.last = tokens, places, layers, last

    def __call__(self, ids):
        x = self.tokens[ids] + self.places[: ids.shape[-1]]
        for layer in self.layers:
            x = layer(x)
        return layer_norm(x, *self.last) @ self.tokens.T


def heads_of(state, i, heads):
    """Cut the fused kernel (E, 3E) into one for each head."""
    kernel, bias = state[f"h.{i}.attn.c_attn.weight"], state[f"h.{i}.attn.c_attn.bias"]
    width = kernel.shape[0]
    parts = kernel.reshape(width, 3, heads, width // heads).transpose(1, 2, 0, 3)
    biases = bias.reshape(3, heads, width // heads)
    out = state[f"h.{i}.attn.c_proj.weight"].reshape(heads, width // heads, width)
    return Heads(*(part.copy() for part in (*parts, *biases, out)), state[f"h.{i}.attn.c_proj.bias"])


def norm_of(state, name):
    return state[f"{name}.weight"], state[f"{name}.bias"]


def convert(state, layers, heads):
    blocks = [
        Layer(
            heads_of(state, i, heads),
            norm_of(state, f"h.{i}.ln_1"),
            norm_of(state, f"h.{i}.ln_2"),
            state[f"h.{i}.mlp.c_fc.weight"],
            state[f"h.{i}.mlp.c_fc.bias"],
            state[f"h.{i}.mlp.c_proj.weight"],
            state[f"h.{i}.mlp.c_proj.bias"],
        )
        for i in range(layers)
    ]
    return GPT2(state["wte.weight"], state["wpe.weight"], blocks, norm_of(state, "ln_f"))


def build():
    source = gpt2_hf.build()
    state = {name: value.numpy().copy() for name, value in source.transformer.state_dict().items()}
    return convert(state, source.config.n_layer, source.config.n_head)


inputs = gpt2_hf.inputs
