# A decoder with multipliers everywhere (muP, Granite): embedding, attention, residual and logits; QKV bias only; YaRN-like scaled angles; position ids as an argument.
import torch
import torch.nn as nn
import torch.nn.functional as F


class RMSNorm(nn.Module):
    def __init__(self, size, eps=1e-5):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(size)), eps

    def forward(self, x):
        dtype = x.dtype
        x = x.to(torch.float32)
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
        return self.weight * x.to(dtype)


def rotate_half(x):
    x1, x2 = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]
    return torch.cat((-x2, x1), dim=-1)


class Rotary(nn.Module):
    def __init__(self, dim, base=10000.0, factor=4.0):
        super().__init__()
        base = base * factor ** (dim / (dim - 2))
        self.register_buffer("inv_freq", 1.0 / base ** (torch.arange(0, dim, 2).float() / dim), persistent=False)

    def forward(self, position_ids):
        angles = position_ids[..., None].float() * self.inv_freq.float()
        angles = torch.cat((angles, angles), dim=-1)
        return angles.cos()[:, None], angles.sin()[:, None]


class Attention(nn.Module):
    def __init__(self, d, heads, kv_heads, multiplier):
        super().__init__()
        self.hd, self.rep, self.multiplier = d // heads, heads // kv_heads, multiplier
        self.q_proj, self.k_proj = nn.Linear(d, d), nn.Linear(d, kv_heads * self.hd)
        self.v_proj, self.o_proj = nn.Linear(d, kv_heads * self.hd), nn.Linear(d, d, bias=False)

    def forward(self, x, cos, sin):
        b, n, d = x.shape
        q, k, v = (p(x).view(b, n, -1, self.hd).transpose(1, 2) for p in (self.q_proj, self.k_proj, self.v_proj))
        q, k = (t * cos + rotate_half(t) * sin for t in (q, k))
        k, v = (t[:, :, None].expand(-1, -1, self.rep, -1, -1).reshape(b, -1, n, self.hd) for t in (k, v))
        mask = torch.triu(torch.full((n, n), torch.finfo(x.dtype).min, dtype=x.dtype), 1)
        weights = F.softmax(q @ k.transpose(2, 3) * self.multiplier + mask, dim=-1, dtype=torch.float32).to(x.dtype)
        return self.o_proj((weights @ v).transpose(1, 2).reshape(b, n, d))


class Layer(nn.Module):
    def __init__(self, d, residual_multiplier):
        super().__init__()
        self.self_attn, self.m = Attention(d, 4, 2, 0.08), residual_multiplier
        self.input_layernorm, self.post_attention_layernorm = RMSNorm(d), RMSNorm(d)
        self.w12, self.w3 = nn.Linear(d, 2 * 70, bias=False), nn.Linear(70, d, bias=False)

    def forward(self, x, cos, sin):
        x = x + self.self_attn(self.input_layernorm(x), cos, sin) * self.m
        x1, x2 = self.w12(self.post_attention_layernorm(x)).chunk(2, dim=-1)
        return x + self.w3(F.silu(x1) * x2) * self.m


class Granite(nn.Module):
    def __init__(self, vocab=67, d=40, depth=4):
        super().__init__()
        self.embed_tokens, self.rotary = nn.Embedding(vocab, d), Rotary(d // 4)
        self.layers, self.norm = nn.ModuleList(Layer(d, 0.3) for _ in range(depth)), RMSNorm(d)
        self.lm_head = nn.Linear(d, vocab, bias=False)
        self.lm_head.weight = self.embed_tokens.weight

    def forward(self, input_ids, position_ids):
        x = self.embed_tokens(input_ids) * 11.0
        cos, sin = self.rotary(position_ids)
        for layer in self.layers:
            x = layer(x, cos, sin)
        return self.lm_head(self.norm(x)) / 8.0


def build():
    torch.manual_seed(21)
    return Granite()


def inputs():
    import numpy as np

    return {
        "input_ids": np.random.default_rng(7).integers(1, 67, (2, 11)),
        "position_ids": np.tile(np.arange(11), (2, 1)),
    }
