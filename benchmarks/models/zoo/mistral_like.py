"""Mistral in small: grouped heads, a sliding window, torch's own attention where nothing else is needed."""

from dataclasses import dataclass

import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention, silu


@dataclass
class MistralArgs:
    dim: int = 48
    n_layers: int = 3
    head_dim: int = 10
    hidden_dim: int = 90
    n_heads: int = 4
    n_kv_heads: int = 2
    norm_eps: float = 1e-5
    vocab_size: int = 77
    sliding_window: int = 5
    rope_theta: float = 1e4


def rope(x, theta):
    """x: (batch, seq, heads, dim); pairs are (2i, 2i + 1)."""
    seq, dim = x.shape[1], x.shape[3]
    freqs = theta ** (-torch.arange(0, dim, 2, device=x.device, dtype=x.dtype) / dim)
    angles = torch.arange(seq, device=x.device, dtype=x.dtype)[:, None] * freqs
    cos, sin = angles.cos()[None, :, None], angles.sin()[None, :, None]
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1).flatten(-2)


class Attention(nn.Module):
    def __init__(self, args, layer_id):
        super().__init__()
        self.args, self.layer_id = args, layer_id
        self.wq = nn.Linear(args.dim, args.n_heads * args.head_dim, bias=False)
        self.wk = nn.Linear(args.dim, args.n_kv_heads * args.head_dim, bias=False)
        self.wv = nn.Linear(args.dim, args.n_kv_heads * args.head_dim, bias=False)
        self.wo = nn.Linear(args.n_heads * args.head_dim, args.dim, bias=False)

    def forward(self, x, mask):
        bsz, seqlen, _ = x.shape
        a = self.args
        xq = self.wq(x).view(bsz, seqlen, a.n_heads, a.head_dim)
        xk = self.wk(x).view(bsz, seqlen, a.n_kv_heads, a.head_dim)
        xv = self.wv(x).view(bsz, seqlen, a.n_kv_heads, a.head_dim)
        xq, xk = rope(xq, a.rope_theta), rope(xk, a.rope_theta)
        xk = torch.repeat_interleave(xk, a.n_heads // a.n_kv_heads, dim=2)
        xv = torch.repeat_interleave(xv, a.n_heads // a.n_kv_heads, dim=2)
        xq, xk, xv = xq.transpose(1, 2), xk.transpose(1, 2), xv.transpose(1, 2)
        output = scaled_dot_product_attention(xq, xk, xv, attn_mask=mask)
        return self.wo(output.transpose(1, 2).reshape(bsz, seqlen, -1))


class FeedForward(nn.Module):
    def __init__(self, args, layer_id):
        super().__init__()
        self.layer_id = layer_id
        self.w1 = nn.Linear(args.dim, args.hidden_dim, bias=False)
        self.w2 = nn.Linear(args.hidden_dim, args.dim, bias=False)
        self.w3 = nn.Linear(args.dim, args.hidden_dim, bias=False)

    def forward(self, x):
        return self.w2(silu(self.w1(x)) * self.w3(x))


class TransformerBlock(nn.Module):
    def __init__(self, args, layer_id):
        super().__init__()
        self.layer_id = layer_id
        self.attention = Attention(args, layer_id)
        self.feed_forward = FeedForward(args, layer_id)
        self.attention_norm = nn.RMSNorm(args.dim, eps=args.norm_eps)
        self.ffn_norm = nn.RMSNorm(args.dim, eps=args.norm_eps)

    def forward(self, x, mask):
        h = x + self.attention(self.attention_norm(x), mask)
        return h + self.feed_forward(self.ffn_norm(h))


class Mistral(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.args = args
        self.tok_embeddings = nn.Embedding(args.vocab_size, args.dim)
        self.layers = nn.ModuleList([TransformerBlock(args, layer_id=i) for i in range(args.n_layers)])
        self.norm = nn.RMSNorm(args.dim, eps=args.norm_eps)
        self.output = nn.Linear(args.dim, args.vocab_size, bias=False)

    def forward(self, input_ids):
        seqlen = input_ids.shape[1]
        h = self.tok_embeddings(input_ids)
        i = torch.arange(seqlen, device=h.device)
        distance = i[:, None] - i[None, :]
        # a token sees itself and the window - 1 tokens before it
        mask = (distance >= 0) & (distance < self.args.sliding_window)
        for layer in self.layers:
            h = layer(h, mask)
        return self.output(self.norm(h))


def build():
    torch.manual_seed(7)
    return Mistral(MistralArgs())
