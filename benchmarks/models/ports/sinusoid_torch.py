"""The decoder with sinusoids in PyTorch, with torch's own attention."""

import math

import numpy as np
import sinusoid_keras
import torch
from torch import nn


class PositionalEncoding(nn.Module):
    def __init__(self, width, longest=64):
        super().__init__()
        position = torch.arange(longest, dtype=torch.float64).unsqueeze(1)
        rate = torch.exp(torch.arange(0, width, 2, dtype=torch.float64) * (-math.log(10000.0) / width))
        table = torch.cat([torch.sin(position * rate), torch.cos(position * rate)], dim=1)
        self.register_buffer("table", table.float())

    def forward(self, x):
        return x + self.table[: x.shape[1]].to(x.dtype)


class Block(nn.Module):
    def __init__(self, width, heads, hidden):
        super().__init__()
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.norm1 = nn.LayerNorm(width, eps=1e-6)
        self.linear1 = nn.Linear(width, hidden)
        self.linear2 = nn.Linear(hidden, width)
        self.norm2 = nn.LayerNorm(width, eps=1e-6)

    def forward(self, x):
        n = x.shape[1]
        hidden = torch.triu(torch.ones(n, n, dtype=torch.bool), diagonal=1)
        y, _ = self.attention(x, x, x, attn_mask=hidden, need_weights=False)
        x = self.norm1(x + y)
        return self.norm2(x + self.linear2(torch.relu(self.linear1(x))))


class Decoder(nn.Module):
    def __init__(self, vocabulary=73, width=36, heads=3, hidden=64, depth=2):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.positions = PositionalEncoding(width)
        self.blocks = nn.ModuleList([Block(width, heads, hidden) for _ in range(depth)])
        self.head = nn.Linear(width, vocabulary)

    def forward(self, tokens):
        x = self.positions(self.embedding(tokens) * math.sqrt(self.embedding.embedding_dim))
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def attention(state, at, w):
    """Keras has (width, heads, size) for queries, keys and values, and (heads, size, width) for the output."""
    width = w["attention/query/kernel"].shape[0]
    parts = [w[f"attention/{name}/kernel"].reshape(width, width).T for name in ("query", "key", "value")]
    biases = [w[f"attention/{name}/bias"].reshape(width) for name in ("query", "key", "value")]
    state[f"{at}.attention.in_proj_weight"] = np.concatenate(parts)
    state[f"{at}.attention.in_proj_bias"] = np.concatenate(biases)
    state[f"{at}.attention.out_proj.weight"] = w["attention/attention_output/kernel"].reshape(width, width).T
    state[f"{at}.attention.out_proj.bias"] = w["attention/attention_output/bias"]


def convert(weights):
    state = {"embedding.weight": weights["embedding/table/embeddings"]}
    state["head.weight"], state["head.bias"] = weights["head/kernel"].T, weights["head/bias"]
    for i in range(2):
        at, prefix = f"blocks.{i}", f"block{i}/"
        w = {name.removeprefix(prefix): value for name, value in weights.items() if name.startswith(prefix)}
        attention(state, at, w)
        state[f"{at}.norm1.weight"], state[f"{at}.norm1.bias"] = w["norm1/gamma"], w["norm1/beta"]
        state[f"{at}.norm2.weight"], state[f"{at}.norm2.bias"] = w["norm2/gamma"], w["norm2/beta"]
        state[f"{at}.linear1.weight"], state[f"{at}.linear1.bias"] = w["up/kernel"].T, w["up/bias"]
        state[f"{at}.linear2.weight"], state[f"{at}.linear2.bias"] = w["down/kernel"].T, w["down/bias"]
    return {name: torch.tensor(np.ascontiguousarray(value)) for name, value in state.items()}


def build():
    weights = {weight.path: np.asarray(weight.value) for weight in sinusoid_keras.build().weights}
    model = Decoder().eval()
    missing, unexpected = model.load_state_dict(convert(weights), strict=False)
    assert missing == ["positions.table"] and not unexpected, (missing, unexpected)
    return model


inputs = sinusoid_keras.inputs
