# Multi-head latent attention as DeepSeek writes it: low-rank queries and keys/values, a rotary part shared by the heads.
import torch
import torch.nn as nn
import torch.nn.functional as F


def precompute(dim, length, theta=10000.0):
    freqs = 1.0 / theta ** (torch.arange(0, dim, 2, dtype=torch.float32) / dim)
    return torch.polar(torch.ones(length, dim // 2), torch.outer(torch.arange(length), freqs))


def rotate(x, freqs_cis):
    dtype = x.dtype
    x = torch.view_as_complex(x.float().view(*x.shape[:-1], -1, 2))
    return torch.view_as_real(x * freqs_cis.view(1, x.size(1), 1, x.size(-1))).flatten(3).to(dtype)


class MLA(nn.Module):
    def __init__(self, dim, n_heads, q_rank=20, kv_rank=16, nope=8, rope=6, v_dim=10):
        super().__init__()
        self.n_heads, self.nope, self.rope, self.v_dim, self.kv_rank = n_heads, nope, rope, v_dim, kv_rank
        self.wq_a, self.q_norm = nn.Linear(dim, q_rank, bias=False), nn.RMSNorm(q_rank, eps=1e-6)
        self.wq_b = nn.Linear(q_rank, n_heads * (nope + rope), bias=False)
        self.wkv_a, self.kv_norm = nn.Linear(dim, kv_rank + rope, bias=False), nn.RMSNorm(kv_rank, eps=1e-6)
        self.wkv_b = nn.Linear(kv_rank, n_heads * (nope + v_dim), bias=False)
        self.wo = nn.Linear(n_heads * v_dim, dim, bias=False)

    def forward(self, x, freqs_cis, mask):
        b, n, _ = x.size()
        q = self.wq_b(self.q_norm(self.wq_a(x))).view(b, n, self.n_heads, self.nope + self.rope)
        q_nope, q_pe = torch.split(q, [self.nope, self.rope], dim=-1)
        kv, k_pe = torch.split(self.wkv_a(x), [self.kv_rank, self.rope], dim=-1)
        q_pe, k_pe = rotate(q_pe, freqs_cis), rotate(k_pe.unsqueeze(2), freqs_cis)
        q = torch.cat([q_nope, q_pe], dim=-1)
        kv = self.wkv_b(self.kv_norm(kv)).view(b, n, self.n_heads, self.nope + self.v_dim)
        k_nope, v = torch.split(kv, [self.nope, self.v_dim], dim=-1)
        k = torch.cat([k_nope, k_pe.expand(-1, -1, self.n_heads, -1)], dim=-1)
        scores = torch.einsum("bshd,bthd->bsht", q, k) * (self.nope + self.rope) ** -0.5
        scores = (scores + mask.unsqueeze(1)).softmax(dim=-1, dtype=torch.float32).type_as(x)
        return self.wo(torch.einsum("bsht,bthd->bshd", scores, v).flatten(2))


class Block(nn.Module):
    def __init__(self, dim, heads, inter):
        super().__init__()
        self.attn_norm, self.ffn_norm = nn.RMSNorm(dim, eps=1e-6), nn.RMSNorm(dim, eps=1e-6)
        self.attn = MLA(dim, heads)
        self.w1, self.w2, self.w3 = (nn.Linear(*s, bias=False) for s in ((dim, inter), (inter, dim), (dim, inter)))

    def forward(self, x, freqs_cis, mask):
        x = x + self.attn(self.attn_norm(x), freqs_cis, mask)
        h = self.ffn_norm(x)
        return x + self.w2(F.silu(self.w1(h)) * self.w3(h))


class Transformer(nn.Module):
    def __init__(self, vocab=68, dim=48, heads=3, depth=3, inter=80, length=64):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList(Block(dim, heads, inter) for _ in range(depth))
        self.norm, self.head = nn.RMSNorm(dim, eps=1e-6), nn.Linear(dim, vocab, bias=False)
        self.register_buffer("freqs_cis", precompute(6, length), persistent=False)

    def forward(self, tokens):
        n = tokens.size(1)
        mask = torch.full((n, n), float("-inf")).triu_(1)
        h = self.embed(tokens)
        for layer in self.layers:
            h = layer(h, self.freqs_cis[:n], mask)
        return self.head(self.norm(h))


def build():
    torch.manual_seed(10)
    return Transformer()
