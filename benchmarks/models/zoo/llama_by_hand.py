"""A Llama written from the paper, with an optional key/value cache."""

from typing import NamedTuple, Optional

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Args(NamedTuple):
    vocab: int = 67
    dim: int = 48
    depth: int = 3
    heads: int = 4
    kv_heads: int = 2
    hidden: int = 104
    max_len: int = 32
    theta: float = 10000.0
    eps: float = 1e-5


class RMSNorm(nn.Module):
    def __init__(self, dim: int, eps: float):
        super().__init__()
        self.eps = eps
        self.gain = nn.Parameter(torch.ones(dim))

    def forward(self, x: Tensor) -> Tensor:
        variance = x.pow(2).mean(-1, keepdim=True)
        return x * torch.rsqrt(variance + self.eps) * self.gain


def rotary_tables(head_dim: int, length: int, theta: float):
    inv_freq = 1.0 / theta ** (torch.arange(0, head_dim, 2).float() / head_dim)
    angles = torch.outer(torch.arange(length).float(), inv_freq)
    angles = torch.cat((angles, angles), dim=-1)
    return angles.cos(), angles.sin()


def rotate_half(x: Tensor) -> Tensor:
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat((-x2, x1), dim=-1)


def apply_rotary(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    return x * cos + rotate_half(x) * sin


class Attention(nn.Module):
    def __init__(self, args: Args, layer_idx: int):
        super().__init__()
        self.layer_idx = layer_idx
        self.heads, self.kv_heads = args.heads, args.kv_heads
        self.head_dim = args.dim // args.heads
        self.q_proj = nn.Linear(args.dim, args.heads * self.head_dim, bias=False)
        self.k_proj = nn.Linear(args.dim, args.kv_heads * self.head_dim, bias=False)
        self.v_proj = nn.Linear(args.dim, args.kv_heads * self.head_dim, bias=False)
        self.o_proj = nn.Linear(args.heads * self.head_dim, args.dim, bias=False)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, mask: Optional[Tensor], cache: Optional[dict]) -> Tensor:
        bsz, seqlen, _ = x.shape
        q = self.q_proj(x).view(bsz, seqlen, self.heads, self.head_dim).transpose(1, 2)
        k = self.k_proj(x).view(bsz, seqlen, self.kv_heads, self.head_dim).transpose(1, 2)
        v = self.v_proj(x).view(bsz, seqlen, self.kv_heads, self.head_dim).transpose(1, 2)

        q = apply_rotary(q, cos, sin)
        k = apply_rotary(k, cos, sin)

        if cache is not None:
            if self.layer_idx in cache:
                past_k, past_v = cache[self.layer_idx]
                k, v = torch.cat((past_k, k), dim=2), torch.cat((past_v, v), dim=2)
            cache[self.layer_idx] = (k, v)

        groups = self.heads // self.kv_heads
        k = k.repeat_interleave(groups, dim=1)
        v = v.repeat_interleave(groups, dim=1)

        scores = torch.matmul(q, k.transpose(2, 3)) / self.head_dim**0.5
        if mask is not None:
            scores = scores + mask
        weights = F.softmax(scores, dim=-1)
        out = torch.matmul(weights, v)
        out = out.transpose(1, 2).reshape(bsz, seqlen, -1)
        return self.o_proj(out)


class FeedForward(nn.Module):
    def __init__(self, args: Args, layer_idx: int):
        super().__init__()
        self.layer_idx = layer_idx
        self.gate_proj = nn.Linear(args.dim, args.hidden, bias=False)
        self.up_proj = nn.Linear(args.dim, args.hidden, bias=False)
        self.down_proj = nn.Linear(args.hidden, args.dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class DecoderLayer(nn.Module):
    def __init__(self, args: Args, layer_idx: int):
        super().__init__()
        self.layer_idx = layer_idx
        self.self_attn = Attention(args, layer_idx)
        self.mlp = FeedForward(args, layer_idx)
        self.input_layernorm = RMSNorm(args.dim, args.eps)
        self.post_attention_layernorm = RMSNorm(args.dim, args.eps)

    def forward(self, x, cos, sin, mask, cache):
        x = x + self.self_attn(self.input_layernorm(x), cos, sin, mask, cache)
        x = x + self.mlp(self.post_attention_layernorm(x))
        return x


class Llama(nn.Module):
    def __init__(self, args: Args):
        super().__init__()
        self.embed_tokens = nn.Embedding(args.vocab, args.dim)
        self.layers = nn.ModuleList(DecoderLayer(args, i) for i in range(args.depth))
        self.norm = RMSNorm(args.dim, args.eps)
        self.lm_head = nn.Linear(args.dim, args.vocab, bias=False)
        cos, sin = rotary_tables(args.dim // args.heads, args.max_len, args.theta)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)

    def forward(self, tokens: Tensor, cache: Optional[dict] = None) -> Tensor:
        start = 0 if not cache else cache[0][0].shape[2]
        length = tokens.shape[1]
        x = self.embed_tokens(tokens)
        mask = None
        if length > 1:
            mask = torch.full((length, start + length), float("-inf"), device=x.device, dtype=x.dtype)
            mask = torch.triu(mask, diagonal=start + 1)
        cos, sin = self.cos[start : start + length], self.sin[start : start + length]
        for layer in self.layers:
            x = layer(x, cos, sin, mask, cache)
        return self.lm_head(self.norm(x))


def build() -> Llama:
    torch.manual_seed(0)
    return Llama(Args())
