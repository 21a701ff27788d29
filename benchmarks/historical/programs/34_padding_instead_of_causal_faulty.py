"""Qwen 2 in small; padded batches bring their mask."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class RotaryEmbedding:
    def __init__(self, dim, max_len=128, theta=10000.0):
        freqs = torch.arange(max_len).float()[:, None] / theta ** (torch.arange(0, dim, 2).float() / dim)
        self.sin, self.cos = freqs.sin(), freqs.cos()

    def apply(self, x):
        cos, sin = (t[: x.shape[2]].to(x.dtype) for t in (self.cos, self.sin))
        a, b = x.chunk(2, -1)
        return torch.cat((a * cos - b * sin, a * sin + b * cos), -1)


class Attention(nn.Module):
    def __init__(self, size, heads, kv_heads, rotary):
        super().__init__()
        self.head_dim, self.heads, self.kv_heads, self.rotary = size // heads, heads, kv_heads, rotary
        self.q_proj = nn.Linear(size, heads * self.head_dim)
        self.k_proj = nn.Linear(size, kv_heads * self.head_dim)
        self.v_proj = nn.Linear(size, kv_heads * self.head_dim)
        self.o_proj = nn.Linear(heads * self.head_dim, size, bias=False)

    def forward(self, xs, mask):
        b, n, _ = xs.shape
        q = self.q_proj(xs).view(b, n, self.heads, -1).transpose(1, 2)
        k = self.k_proj(xs).view(b, n, self.kv_heads, -1).transpose(1, 2)
        v = self.v_proj(xs).view(b, n, self.kv_heads, -1).transpose(1, 2)
        q, k = self.rotary.apply(q), self.rotary.apply(k)
        k, v = (t.repeat_interleave(self.heads // self.kv_heads, dim=1) for t in (k, v))
        w = q @ k.mT / self.head_dim**0.5
        w = F.softmax(w.masked_fill(~mask, torch.finfo(w.dtype).min), dim=-1)
        return self.o_proj((w @ v).transpose(1, 2).reshape(b, n, -1))


class DecoderLayer(nn.Module):
    def __init__(self, size, rotary):
        super().__init__()
        self.self_attn = Attention(size, 4, 2, rotary)
        self.gate_proj, self.up_proj = nn.Linear(size, 64, bias=False), nn.Linear(size, 64, bias=False)
        self.down_proj = nn.Linear(64, size, bias=False)
        self.input_layernorm, self.post_attention_layernorm = nn.RMSNorm(size, eps=1e-6), nn.RMSNorm(size, eps=1e-6)

    def forward(self, xs, mask):
        xs = xs + self.self_attn(self.input_layernorm(xs), mask)
        ys = self.post_attention_layernorm(xs)
        return xs + self.down_proj(F.silu(self.gate_proj(ys)) * self.up_proj(ys))


class Model(nn.Module):
    def __init__(self, size=32, vocab=80):
        super().__init__()
        rotary = RotaryEmbedding(size // 4)
        self.embed_tokens = nn.Embedding(vocab, size)
        self.layers = nn.ModuleList(DecoderLayer(size, rotary) for _ in range(2))
        self.norm, self.lm_head = nn.RMSNorm(size, eps=1e-6), nn.Linear(size, vocab, bias=False)

    def prepare_causal_attention_mask(self, n):
        return torch.ones(n, n, dtype=torch.bool).tril()[None, None]

    def prepare_attention_mask(self, attn_mask):
        visible = attn_mask[:, None, None, :].bool()
        return visible

    def forward(self, input_ids, attention_mask=None):
        if attention_mask is None:
            mask = self.prepare_causal_attention_mask(input_ids.shape[1])
        else:
            mask = self.prepare_attention_mask(attention_mask)
        xs = self.embed_tokens(input_ids)
        for layer in self.layers:
            xs = layer(xs, mask)
        return self.lm_head(self.norm(xs))


def build():
    torch.manual_seed(0)
    return Model().eval()
