"""A decoder with a cache, as it runs on a laptop."""

import torch
from torch import nn


class KVCache:
    def __init__(self, keys=None, values=None):
        self.keys, self.values = keys, values

    @property
    def offset(self):
        return 0 if self.keys is None else self.keys.shape[2]

    def update_and_fetch(self, keys, values):
        if self.keys is not None:
            keys, values = torch.cat((self.keys, keys), 2), torch.cat((self.values, values), 2)
        return keys, values


def rope(x, offset, base=10000.0):
    n, d = x.shape[-2:]
    positions = torch.arange(offset, offset + n, dtype=x.dtype)
    angles = positions[:, None] * base ** (-torch.arange(0, d, 2, dtype=x.dtype) / d)
    a, b = x[..., : d // 2], x[..., d // 2 :]
    return torch.cat((a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()), -1)


class Attention(nn.Module):
    def __init__(self, dims, heads):
        super().__init__()
        self.heads = heads
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (nn.Linear(dims, dims, bias=False) for _ in range(4))

    def forward(self, x, cache):
        q, k, v = (f(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for f in (self.q_proj, self.k_proj, self.v_proj))
        offset = cache.offset
        q, k = rope(q, offset), rope(k, offset)
        k, v = cache.update_and_fetch(k, v)
        seen = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool).tril(k.shape[2] - q.shape[2])
        y = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=seen)
        return self.o_proj(y.transpose(1, 2).flatten(2)), (k, v)


class Block(nn.Module):
    def __init__(self, dims, heads):
        super().__init__()
        self.attention = Attention(dims, heads)
        self.norm1, self.norm2 = nn.RMSNorm(dims, eps=1e-5), nn.RMSNorm(dims, eps=1e-5)
        self.gate, self.up, self.down = nn.Linear(dims, 48, bias=False), nn.Linear(dims, 48, bias=False), nn.Linear(48, dims, bias=False)

    def forward(self, x, cache):
        y, kept = self.attention(self.norm1(x), cache)
        x = x + y
        y = self.norm2(x)
        return x + self.down(nn.functional.silu(self.gate(y)) * self.up(y)), kept


class Thinker(nn.Module):
    def __init__(self, vocabulary=64, dims=32, heads=4, layers=2):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, dims)
        self.layers = nn.ModuleList(Block(dims, heads) for _ in range(layers))
        self.norm, self.head = nn.RMSNorm(dims, eps=1e-5), nn.Linear(dims, vocabulary, bias=False)

    def forward(self, input_ids, past_key_values=None):
        past = past_key_values or [(None, None)] * len(self.layers)
        x, kept = self.embed(input_ids), []
        for layer, (keys, values) in zip(self.layers, past):
            x, state = layer(x, KVCache(keys, values))
            kept.append(state)
        return self.head(self.norm(x)), kept


def build():
    torch.manual_seed(0)
    return Thinker().eval()
