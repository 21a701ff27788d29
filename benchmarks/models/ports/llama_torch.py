"""Llama as Meta wrote it: rotary pairs are neighbours, one fused projection, weights w1, w2, w3."""

import llama_hf
import torch
import torch.nn.functional as F
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


def rotation(dim, length, theta=10000.0, dtype=torch.float32):
    frequencies = 1.0 / (theta ** (torch.arange(0, dim, 2, dtype=dtype) / dim))
    angles = torch.outer(torch.arange(length, dtype=dtype), frequencies)
    return angles.cos(), angles.sin()


def apply_rotary(x, cos, sin):
    even, odd = x[..., 0::2], x[..., 1::2]
    cos, sin = cos[:, None, :], sin[:, None, :]
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1).flatten(-2)


class Attention(nn.Module):
    def __init__(self, dim, n_heads, n_kv_heads):
        super().__init__()
        self.n_heads, self.n_kv_heads, self.head_dim = n_heads, n_kv_heads, dim // n_heads
        self.wqkv = nn.Linear(dim, (n_heads + 2 * n_kv_heads) * self.head_dim, bias=False)
        self.wo = nn.Linear(dim, dim, bias=False)

    def forward(self, x, cos, sin):
        bsz, seqlen, dim = x.shape
        kv = self.n_kv_heads * self.head_dim
        q, k, v = self.wqkv(x).split([dim, kv, kv], dim=-1)
        q = apply_rotary(q.view(bsz, seqlen, self.n_heads, self.head_dim), cos, sin)
        k = apply_rotary(k.view(bsz, seqlen, self.n_kv_heads, self.head_dim), cos, sin)
        v = v.view(bsz, seqlen, self.n_kv_heads, self.head_dim)
        repeats = self.n_heads // self.n_kv_heads
        k = k.repeat_interleave(repeats, dim=2)
        v = v.repeat_interleave(repeats, dim=2)
        q, k, v = (t.transpose(1, 2) for t in (q, k, v))
        output = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.wo(output.transpose(1, 2).contiguous().view(bsz, seqlen, dim))


class FeedForward(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.w1 = nn.Linear(dim, hidden, bias=False)
        self.w2 = nn.Linear(hidden, dim, bias=False)
        self.w3 = nn.Linear(dim, hidden, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class TransformerBlock(nn.Module):
    def __init__(self, dim, hidden, n_heads, n_kv_heads):
        super().__init__()
        self.attention = Attention(dim, n_heads, n_kv_heads)
        self.feed_forward = FeedForward(dim, hidden)
        self.attention_norm = RMSNorm(dim)
        self.ffn_norm = RMSNorm(dim)

    def forward(self, x, cos, sin):
        h = x + self.attention(self.attention_norm(x), cos, sin)
        return h + self.feed_forward(self.ffn_norm(h))


class Transformer(nn.Module):
    def __init__(self, vocab=89, dim=48, hidden=48, n_layers=2, n_heads=4, n_kv_heads=2):
        super().__init__()
        self.head_dim = dim // n_heads
        self.tok_embeddings = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList([TransformerBlock(dim, hidden, n_heads, n_kv_heads) for _ in range(n_layers)])
        self.norm = RMSNorm(dim)
        self.output = nn.Linear(dim, vocab, bias=False)

    def forward(self, tokens):
        h = self.tok_embeddings(tokens)
        cos, sin = rotation(self.head_dim, tokens.shape[1], dtype=h.dtype)
        for layer in self.layers:
            h = layer(h, cos, sin)
        return self.output(self.norm(h))


def neighbours(weight, heads):
    """Reorder the rows of each head from halves to neighbours: 0, d/2, 1, d/2 + 1, ..."""
    rows, columns = weight.shape
    return weight.view(heads, 2, rows // heads // 2, columns).transpose(1, 2).reshape(rows, columns)


def convert(hf, model):
    state = {"tok_embeddings.weight": hf["model.embed_tokens.weight"], "norm.weight": hf["model.norm.weight"]}
    state["output.weight"] = hf["lm_head.weight"]
    for i in range(len(model.layers)):
        old, new = f"model.layers.{i}", f"layers.{i}"
        q = neighbours(hf[f"{old}.self_attn.q_proj.weight"], 4)
        k = neighbours(hf[f"{old}.self_attn.k_proj.weight"], 2)
        v = hf[f"{old}.self_attn.v_proj.weight"]
        state[f"{new}.attention.wqkv.weight"] = torch.cat([q, k, v])
        state[f"{new}.attention.wo.weight"] = hf[f"{old}.self_attn.o_proj.weight"]
        state[f"{new}.feed_forward.w1.weight"] = hf[f"{old}.mlp.gate_proj.weight"]
        state[f"{new}.feed_forward.w2.weight"] = hf[f"{old}.mlp.down_proj.weight"]
        state[f"{new}.feed_forward.w3.weight"] = hf[f"{old}.mlp.up_proj.weight"]
        state[f"{new}.attention_norm.weight"] = hf[f"{old}.input_layernorm.weight"]
        state[f"{new}.ffn_norm.weight"] = hf[f"{old}.post_attention_layernorm.weight"]
    model.load_state_dict(state)
    return model


def build():
    return convert(llama_hf.build().state_dict(), Transformer()).eval()


inputs = llama_hf.inputs
