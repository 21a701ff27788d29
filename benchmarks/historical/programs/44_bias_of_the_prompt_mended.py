"""The decoder stack of T5 without its encoder, with a cache."""

import math

import torch
from torch import nn


class T5LayerNorm(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x):
        return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)


def bucket(distance, num_buckets=32, max_distance=128):
    exact = num_buckets // 2
    far = exact + (torch.log(distance.clamp(min=1) / exact) / math.log(max_distance / exact) * (num_buckets - exact)).long()
    return torch.where(distance < exact, distance, far.clamp(max=num_buckets - 1))


class T5Attention(nn.Module):
    def __init__(self, d_model, heads, has_bias):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.o = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
        self.relative_attention_bias = nn.Embedding(32, heads) if has_bias else None

    def compute_bias(self, q_len, kv_len):
        queries = torch.arange(kv_len - q_len, kv_len)[:, None]
        distance = (queries - torch.arange(kv_len)).clamp(min=0)
        return self.relative_attention_bias(bucket(distance)).permute(2, 0, 1)[None]

    def forward(self, x, past, position_bias):
        q, k, v = (f(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for f in (self.q, self.k, self.v))
        if past is not None:
            k, v = torch.cat((past[0], k), 2), torch.cat((past[1], v), 2)
        q_len, kv_len = q.shape[2], k.shape[2]
        if position_bias is None:
            position_bias = self.compute_bias(q_len, kv_len)
            hidden = torch.ones(q_len, kv_len, dtype=torch.bool).triu(kv_len - q_len + 1)
            position_bias = position_bias.masked_fill(hidden, float("-inf"))
        weights = (q @ k.mT + position_bias).softmax(-1)
        return self.o((weights @ v).transpose(1, 2).flatten(2)), (k, v), position_bias


class T5Block(nn.Module):
    def __init__(self, d_model, heads, has_bias):
        super().__init__()
        self.self_attn = T5Attention(d_model, heads, has_bias)
        self.norm1, self.norm2 = T5LayerNorm(d_model), T5LayerNorm(d_model)
        self.wi, self.wo = nn.Linear(d_model, 64, bias=False), nn.Linear(64, d_model, bias=False)

    def forward(self, x, past, position_bias):
        y, kept, position_bias = self.self_attn(self.norm1(x), past, position_bias)
        x = x + y
        return x + self.wo(self.wi(self.norm2(x)).relu()), kept, position_bias


class T5Stack(nn.Module):
    def __init__(self, vocab=64, d_model=32, heads=4, layers=2):
        super().__init__()
        self.shared = nn.Embedding(vocab, d_model)
        self.block = nn.ModuleList(T5Block(d_model, heads, has_bias=i == 0) for i in range(layers))
        self.final_layer_norm, self.lm_head = T5LayerNorm(d_model), nn.Linear(d_model, vocab, bias=False)

    def forward(self, input_ids, past_key_values=None):
        x, position_bias, kept = self.shared(input_ids), None, []
        for i, block in enumerate(self.block):
            x, state, position_bias = block(x, None if past_key_values is None else past_key_values[i], position_bias)
            kept.append(state)
        return self.lm_head(self.final_layer_norm(x)), kept


def build():
    torch.manual_seed(0)
    model = T5Stack()
    for weight in model.parameters():
        if weight.dim() > 1:
            nn.init.normal_(weight, 0.0, 0.2)
    return model.eval()
