"""Phi in torch in the way of the first releases: fused Wqkv, einops-like reshapes, its own rotary embedding."""

import math

import phi_hf
import torch
from torch import nn


class RotaryEmbedding(nn.Module):
    def __init__(self, dim, base=10000):
        super().__init__()
        self.dim = dim
        self.register_buffer("inv_freq", 1.0 / (base ** (torch.arange(0, dim, 2) / dim)), persistent=False)

    def forward(self, qkv):
        t = torch.arange(qkv.shape[1], dtype=self.inv_freq.dtype)
        freqs = torch.outer(t, self.inv_freq)
        cos, sin = freqs.cos()[:, None], freqs.sin()[:, None]
        q, k, v = qkv.unbind(2)
        rotated = []
        for x in (q, k):
            rot, keep = x[..., : self.dim], x[..., self.dim :]
            x1, x2 = rot.chunk(2, dim=-1)
            rotated.append(torch.cat([x1 * cos - x2 * sin, x1 * sin + x2 * cos, keep], dim=-1))
        return torch.stack([*rotated, v], dim=2)


class MHA(nn.Module):
    def __init__(self, n_embd, n_head, rotary_dim):
        super().__init__()
        self.n_head = n_head
        self.rotary_emb = RotaryEmbedding(rotary_dim)
        self.Wqkv = nn.Linear(n_embd, 3 * n_embd)
        self.out_proj = nn.Linear(n_embd, n_embd)

    def forward(self, x):
        b, t, c = x.shape
        qkv = self.rotary_emb(self.Wqkv(x).view(b, t, 3, self.n_head, c // self.n_head))
        q, k, v = qkv.unbind(dim=2)
        scores = torch.einsum("bthd,bshd->bhts", q, k * (1.0 / math.sqrt(q.shape[-1])))
        causal = torch.triu(torch.full((t, t), -10000.0, dtype=scores.dtype), 1)
        attention = torch.softmax(scores + causal, dim=-1)
        out = torch.einsum("bhts,bshd->bthd", attention, v)
        return self.out_proj(out.flatten(2))


class MLP(nn.Module):
    def __init__(self, n_embd, n_inner):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(n_embd, n_inner), nn.Linear(n_inner, n_embd)
        self.act = nn.GELU(approximate="tanh")

    def forward(self, x):
        return self.fc2(self.act(self.fc1(x)))


class ParallelBlock(nn.Module):
    def __init__(self, n_embd, n_head, n_inner, rotary_dim):
        super().__init__()
        self.ln = nn.LayerNorm(n_embd, eps=1e-5)
        self.mixer = MHA(n_embd, n_head, rotary_dim)
        self.mlp = MLP(n_embd, n_inner)

    def forward(self, x):
        residual = x
        x = self.ln(x)
        return self.mixer(x) + self.mlp(x) + residual


class Phi(nn.Module):
    def __init__(self, vocab=79, n_embd=48, n_layer=2, n_head=3, n_inner=80, rotary_dim=8):
        super().__init__()
        self.wte = nn.Embedding(vocab, n_embd)
        self.h = nn.ModuleList([ParallelBlock(n_embd, n_head, n_inner, rotary_dim) for _ in range(n_layer)])
        self.lm_ln = nn.LayerNorm(n_embd, eps=1e-5)
        self.lm_head = nn.Linear(n_embd, vocab)

    def forward(self, input_ids):
        x = self.wte(input_ids)
        for block in self.h:
            x = block(x)
        return self.lm_head(self.lm_ln(x))


def convert(sd):
    new = {}
    for end in ("weight", "bias"):
        new[f"lm_ln.{end}"] = sd[f"model.final_layernorm.{end}"]
        new[f"lm_head.{end}"] = sd[f"lm_head.{end}"]
        for i in range(2):
            s, d = f"model.layers.{i}", f"h.{i}"
            new[f"{d}.mixer.Wqkv.{end}"] = torch.cat([sd[f"{s}.self_attn.{n}_proj.{end}"] for n in "qkv"])
            new[f"{d}.mixer.out_proj.{end}"] = sd[f"{s}.self_attn.dense.{end}"]
            new[f"{d}.ln.{end}"] = sd[f"{s}.input_layernorm.{end}"]
            new[f"{d}.mlp.fc1.{end}"] = sd[f"{s}.mlp.fc1.{end}"]
            new[f"{d}.mlp.fc2.{end}"] = sd[f"{s}.mlp.fc2.{end}"]
    new["wte.weight"] = sd["model.embed_tokens.weight"]
    return new


def build():
    model = Phi()
    model.load_state_dict(convert(phi_hf.build().state_dict()))
    return model.eval()
