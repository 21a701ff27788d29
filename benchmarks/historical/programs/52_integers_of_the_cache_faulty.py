"""A decoder whose cache holds keys and values as 8-bit integers."""

import torch
from torch import nn
from torch.nn import functional as F


def quantize(x):
    scale = x.abs().amax(dim=-1, keepdim=True).clamp(min=1e-8) / 127
    return torch.round(x / scale).to(torch.int8), scale


def dequantize(ints, scale):
    return ints.to(scale.dtype)


class CachedAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.wqkv, self.wo = heads, nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, x, past):
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in self.wqkv(x).chunk(3, dim=-1))
        new = (*quantize(k), *quantize(v))
        if past is not None:
            k = torch.cat((dequantize(past[0], past[1]), k), dim=2)
            v = torch.cat((dequantize(past[2], past[3]), v), dim=2)
            new = tuple(torch.cat(pair, dim=2) for pair in zip(past, new))
        n, total = q.shape[2], k.shape[2]
        visible = torch.arange(total) <= torch.arange(total - n, total)[:, None]
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=visible)
        return self.wo(y.transpose(1, 2).flatten(2)), new


class DecoderBlock(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.ln_1, self.attn, self.ln_2 = nn.LayerNorm(dim), CachedAttention(dim, heads), nn.LayerNorm(dim)
        self.fc, self.proj = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)

    def forward(self, x, past):
        y, new = self.attn(self.ln_1(x), past)
        x = x + y
        return x + self.proj(F.gelu(self.fc(self.ln_2(x)), approximate="tanh")), new


class Engine(nn.Module):
    def __init__(self, vocab=60, dim=32, heads=4, layers=2, context=64):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab, dim), nn.Embedding(context, dim)
        self.h = nn.ModuleList(DecoderBlock(dim, heads) for _ in range(layers))
        self.ln_f = nn.LayerNorm(dim)

    def forward(self, input_ids, past_key_values=None):
        start = past_key_values[0][0].shape[2] if past_key_values else 0
        x = self.wte(input_ids) + self.wpe(torch.arange(start, start + input_ids.shape[1]))
        kept = []
        for i, block in enumerate(self.h):
            x, new = block(x, past_key_values[i] if past_key_values else None)
            kept.append(new)
        return self.ln_f(x) @ self.wte.weight.T, kept


def build():
    torch.manual_seed(0)
    return Engine().eval()
