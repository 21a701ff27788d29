"""Gemma in plain torch, as in google/gemma_pytorch: one fused projection, complex rotations, shared table."""

import gemma_hf
import torch
import torch.nn.functional as F
from torch import nn


def precompute_freqs_cis(dim, end, theta=10000.0):
    freqs = 1.0 / (theta ** (torch.arange(0, dim, 2).double() / dim))
    freqs = torch.outer(torch.arange(end).double(), freqs)
    return torch.polar(torch.ones_like(freqs), freqs)


def apply_rotary_emb(x, freqs_cis):
    pairs = torch.complex(*torch.chunk(x.transpose(1, 2).double(), 2, dim=-1))
    turned = torch.view_as_real(pairs * freqs_cis).to(x.dtype)
    turned = torch.cat(torch.chunk(turned, 2, dim=-1), dim=-2)
    return turned.reshape(turned.shape[0], turned.shape[1], turned.shape[2], -1).transpose(1, 2)


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
        return x * (1 + self.weight)


class GemmaMLP(nn.Module):
    def __init__(self, hidden, inner):
        super().__init__()
        self.gate_proj = nn.Linear(hidden, inner, bias=False)
        self.up_proj = nn.Linear(hidden, inner, bias=False)
        self.down_proj = nn.Linear(inner, hidden, bias=False)

    def forward(self, x):
        gate = F.gelu(self.gate_proj(x), approximate="tanh")
        return self.down_proj(gate * self.up_proj(x))


class GemmaAttention(nn.Module):
    def __init__(self, hidden, heads, kv_heads, head_dim):
        super().__init__()
        self.heads, self.kv_heads, self.head_dim = heads, kv_heads, head_dim
        self.q_size, self.kv_size = heads * head_dim, kv_heads * head_dim
        self.qkv_proj = nn.Linear(hidden, self.q_size + 2 * self.kv_size, bias=False)
        self.o_proj = nn.Linear(self.q_size, hidden, bias=False)

    def forward(self, x, freqs_cis, mask):
        b, t, _ = x.shape
        xq, xk, xv = self.qkv_proj(x).split([self.q_size, self.kv_size, self.kv_size], dim=-1)
        xq = apply_rotary_emb(xq.view(b, t, self.heads, self.head_dim), freqs_cis)
        xk = apply_rotary_emb(xk.view(b, t, self.kv_heads, self.head_dim), freqs_cis)
        xv = xv.view(b, t, self.kv_heads, self.head_dim)
        xk = torch.repeat_interleave(xk, self.heads // self.kv_heads, dim=2)
        xv = torch.repeat_interleave(xv, self.heads // self.kv_heads, dim=2)
        q, k, v = xq.transpose(1, 2), xk.transpose(1, 2), xv.transpose(1, 2)
        scores = torch.matmul(q, k.transpose(2, 3)) * self.head_dim**-0.5
        scores = F.softmax(scores + mask, dim=-1)
        out = torch.matmul(scores, v).transpose(1, 2).contiguous().view(b, t, -1)
        return self.o_proj(out)


class GemmaDecoderLayer(nn.Module):
    def __init__(self, hidden, inner, heads, kv_heads, head_dim):
        super().__init__()
        self.self_attn = GemmaAttention(hidden, heads, kv_heads, head_dim)
        self.mlp = GemmaMLP(hidden, inner)
        self.input_layernorm = RMSNorm(hidden)
        self.post_attention_layernorm = RMSNorm(hidden)

    def forward(self, x, freqs_cis, mask):
        residual = x
        x = self.input_layernorm(x)
        x = self.self_attn(x, freqs_cis, mask)
        x = residual + x
        residual = x
        x = self.post_attention_layernorm(x)
        x = self.mlp(x)
        return residual + x


class Gemma(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedder = nn.Embedding(73, 32)
        self.layers = nn.ModuleList([GemmaDecoderLayer(32, 56, 4, 1, 12) for _ in range(2)])
        self.norm = RMSNorm(32)
        self.register_buffer("freqs_cis", precompute_freqs_cis(12, 128), persistent=False)

    def forward(self, tokens):
        t = tokens.shape[1]
        x = self.embedder(tokens)
        x = x * (x.shape[-1] ** 0.5)
        mask = torch.full((1, 1, t, t), -2.3819763e38, dtype=x.dtype)
        mask = torch.triu(mask, diagonal=1)
        for layer in self.layers:
            x = layer(x, self.freqs_cis[:t], mask)
        x = self.norm(x)
        return torch.matmul(x, self.embedder.weight.t())


def convert(hf):
    new = {"embedder.weight": hf["model.embed_tokens.weight"], "norm.weight": hf["model.norm.weight"]}
    for i in range(2):
        old, at = f"model.layers.{i}.", f"layers.{i}."
        q, k, v = (hf[f"{old}self_attn.{name}_proj.weight"] for name in "qkv")
        new[at + "self_attn.qkv_proj.weight"] = torch.cat([q, k, v], dim=0)
        new[at + "self_attn.o_proj.weight"] = hf[old + "self_attn.o_proj.weight"]
        for name in ("gate_proj", "up_proj", "down_proj"):
            new[at + f"mlp.{name}.weight"] = hf[old + f"mlp.{name}.weight"]
        for name in ("input_layernorm", "post_attention_layernorm"):
            new[at + f"{name}.weight"] = hf[old + f"{name}.weight"]
    return new


def build():
    model = Gemma()
    model.load_state_dict(convert(gemma_hf.build().state_dict()))
    return model.eval()
