"""OPT as a small NumPy class that reads a checkpoint, with a mask of padding."""

import numpy as np
import opt_hf


class LayerNorm:
    def __init__(self, weight, bias, eps=1e-5):
        self.weight, self.bias, self.eps = weight, bias, eps

    def __call__(self, x):
        x = x - x.mean(axis=-1, keepdims=True)
        return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + self.eps) * self.weight + self.bias


class Linear:
    def __init__(self, weight, bias):
        self.weight, self.bias = np.ascontiguousarray(weight.T), bias

    def __call__(self, x):
        return x @ self.weight + self.bias


class Layer:
    def __init__(self, w, prefix, heads):
        self.heads = heads
        for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
            setattr(self, name, Linear(w[f"{prefix}self_attn.{name}.weight"], w[f"{prefix}self_attn.{name}.bias"]))
        self.ln1 = LayerNorm(w[prefix + "self_attn_layer_norm.weight"], w[prefix + "self_attn_layer_norm.bias"])
        self.ln2 = LayerNorm(w[prefix + "final_layer_norm.weight"], w[prefix + "final_layer_norm.bias"])
        self.fc1 = Linear(w[prefix + "fc1.weight"], w[prefix + "fc1.bias"])
        self.fc2 = Linear(w[prefix + "fc2.weight"], w[prefix + "fc2.bias"])

    def split(self, x):
        return x.reshape(x.shape[0], x.shape[1], self.heads, -1).swapaxes(1, 2)

    def __call__(self, x, visible):
        y = self.ln1(x)
        q, k, v = self.split(self.q_proj(y)), self.split(self.k_proj(y)), self.split(self.v_proj(y))
        scores = np.matmul(q, k.swapaxes(2, 3)) / q.shape[-1] ** 0.5
        scores = np.where(visible, scores, -1e9)
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        out = np.matmul(scores / scores.sum(-1, keepdims=True), v)
        x = x + self.out_proj(out.swapaxes(1, 2).reshape(x.shape))
        return x + self.fc2(np.maximum(0, self.fc1(self.ln2(x))))


class OPT:
    def __init__(self, w, layers=2, heads=4):
        self.embed = w["model.decoder.embed_tokens.weight"]
        self.positions = w["model.decoder.embed_positions.weight"][2:]
        self.layers = [Layer(w, f"model.decoder.layers.{i}.", heads) for i in range(layers)]
        self.norm = LayerNorm(w["model.decoder.final_layer_norm.weight"], w["model.decoder.final_layer_norm.bias"])

    def __call__(self, tokens, attention_mask=None):
        n = tokens.shape[1]
        visible = np.tril(np.ones((n, n), dtype=bool))[None, None]
        if attention_mask is None:
            places = np.arange(n)[None]
        else:
            visible = visible & (attention_mask[:, None, None, :] > 0)
            places = np.cumsum(attention_mask, axis=1) * attention_mask - 1
        x = self.embed[tokens] + self.positions[places]
        for layer in self.layers:
            x = layer(x, visible)
        return self.norm(x) @ self.embed.T


def build():
    state = {name: value.numpy().astype(np.float64) for name, value in opt_hf.build().state_dict().items()}
    return OPT(state)
