"""Qwen2 from scratch in torch, with a KV-cache and an attention_mask."""

import qwen2_hf
import torch
import torch.nn.functional as F
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        dtype = x.dtype
        x = x.to(torch.promote_types(dtype, torch.float32))
        return self.scale * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)).to(dtype)


def precompute(dim, end, theta):
    freqs = 1.0 / (theta ** (torch.arange(0, dim, 2).float() / dim))
    angles = torch.outer(torch.arange(end).float(), freqs)
    angles = torch.cat([angles, angles], dim=-1)
    return angles.cos(), angles.sin()


def apply_rope(x, cos, sin):
    x1, x2 = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]
    return x * cos + torch.cat((-x2, x1), dim=-1) * sin


class GQA(nn.Module):
    def __init__(self, dim, n_heads, n_kv):
        super().__init__()
        self.n_heads, self.n_kv, self.hd = n_heads, n_kv, dim // n_heads
        self.wq = nn.Linear(dim, n_heads * self.hd)
        self.wk = nn.Linear(dim, n_kv * self.hd)
        self.wv = nn.Linear(dim, n_kv * self.hd)
        self.wo = nn.Linear(n_heads * self.hd, dim, bias=False)

    def forward(self, x, cos, sin, mask, past):
        B, T, _ = x.shape
        q = self.wq(x).view(B, T, self.n_heads, self.hd).transpose(1, 2)
        k = self.wk(x).view(B, T, self.n_kv, self.hd).transpose(1, 2)
        v = self.wv(x).view(B, T, self.n_kv, self.hd).transpose(1, 2)
        q, k = apply_rope(q, cos, sin), apply_rope(k, cos, sin)
        if past is not None:
            k, v = torch.cat([past[0], k], dim=2), torch.cat([past[1], v], dim=2)
        present = (k, v)
        rep = self.n_heads // self.n_kv
        k, v = k.repeat_interleave(rep, dim=1), v.repeat_interleave(rep, dim=1)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.wo(y.transpose(1, 2).reshape(B, T, -1)), present


class SwiGLU(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.w1, self.w3 = nn.Linear(dim, hidden, bias=False), nn.Linear(dim, hidden, bias=False)
        self.w2 = nn.Linear(hidden, dim, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Layer(nn.Module):
    def __init__(self, dim, n_heads, n_kv, hidden):
        super().__init__()
        self.attn_norm, self.attn = RMSNorm(dim), GQA(dim, n_heads, n_kv)
        self.ffn_norm, self.ffn = RMSNorm(dim), SwiGLU(dim, hidden)

    def forward(self, x, cos, sin, mask, past):
        a, present = self.attn(self.attn_norm(x), cos, sin, mask, past)
        x = x + a
        return x + self.ffn(self.ffn_norm(x)), present


class Qwen2(nn.Module):
    def __init__(self, vocab=101, dim=64, n_layers=2, n_heads=4, n_kv=2, hidden=96, max_len=64):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList([Layer(dim, n_heads, n_kv, hidden) for _ in range(n_layers)])
        self.norm = RMSNorm(dim)
        cos, sin = precompute(dim // n_heads, max_len, 1e6)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)

    def forward(self, input_ids, attention_mask=None, past_key_values=None, use_cache=False):
        B, T = input_ids.shape
        start = 0 if past_key_values is None else past_key_values[0][0].shape[2]
        S = start + T
        if attention_mask is None:
            attention_mask = torch.ones(B, S, dtype=torch.long)
            position_ids = torch.arange(start, S)[None].expand(B, T)
        else:
            position_ids = (attention_mask.long().cumsum(-1) - 1).clamp(min=0)[:, -T:]
        causal = torch.ones(T, S, dtype=torch.bool).tril(diagonal=S - T)
        mask = causal[None, None] & attention_mask[:, None, None, :].bool()
        mask = mask | ~mask.any(-1, keepdim=True)
        cos, sin = self.cos[position_ids][:, None], self.sin[position_ids][:, None]
        h = self.tok(input_ids)
        presents = []
        for i, layer in enumerate(self.layers):
            h, present = layer(h, cos, sin, mask, None if past_key_values is None else past_key_values[i])
            presents.append(present)
        logits = F.linear(self.norm(h), self.tok.weight)
        return (logits, presents) if use_cache else (logits, None)


def convert(sd):
    out = {"tok.weight": sd["model.embed_tokens.weight"], "norm.scale": sd["model.norm.weight"]}
    for i in range(2):
        s, d = f"model.layers.{i}.", f"layers.{i}."
        for theirs, ours in (("q_proj", "wq"), ("k_proj", "wk"), ("v_proj", "wv")):
            out[f"{d}attn.{ours}.weight"] = sd[f"{s}self_attn.{theirs}.weight"]
            out[f"{d}attn.{ours}.bias"] = sd[f"{s}self_attn.{theirs}.bias"]
        out[d + "attn.wo.weight"] = sd[s + "self_attn.o_proj.weight"]
        out[d + "ffn.w1.weight"] = sd[s + "mlp.gate_proj.weight"]
        out[d + "ffn.w3.weight"] = sd[s + "mlp.up_proj.weight"]
        out[d + "ffn.w2.weight"] = sd[s + "mlp.down_proj.weight"]
        out[d + "attn_norm.scale"] = sd[s + "input_layernorm.weight"]
        out[d + "ffn_norm.scale"] = sd[s + "post_attention_layernorm.weight"]
    return out


def build():
    model = Qwen2()
    model.load_state_dict(convert(qwen2_hf.build().state_dict()))
    return model.eval()
