"""A Llama in small, as Hugging Face names its weights."""

import torch
from torch import nn

HIDDEN, HEADS, KV_HEADS, LAYERS, VOCAB, THETA, EPS = 32, 4, 2, 2, 64, 500000.0, 1e-5


class RMSNorm(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(1 + 0.2 * torch.randn(size))

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + EPS))


def rotate_half(x):
    a, b = x.chunk(2, -1)
    return torch.cat((-b, a), -1)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        d = HIDDEN // HEADS
        self.q_proj = nn.Linear(HIDDEN, HEADS * d, bias=False)
        self.k_proj = nn.Linear(HIDDEN, KV_HEADS * d, bias=False)
        self.v_proj = nn.Linear(HIDDEN, KV_HEADS * d, bias=False)
        self.o_proj = nn.Linear(HEADS * d, HIDDEN, bias=False)

    def forward(self, x):
        b, n, _ = x.shape
        d = HIDDEN // HEADS
        q = self.q_proj(x).view(b, n, HEADS, d).transpose(1, 2)
        k = self.k_proj(x).view(b, n, KV_HEADS, d).transpose(1, 2)
        v = self.v_proj(x).view(b, n, KV_HEADS, d).transpose(1, 2)
        freqs = torch.outer(torch.arange(n).float(), THETA ** (-torch.arange(0, d, 2).float() / d))
        cos, sin = (torch.cat((f, f), -1).to(x.dtype) for f in (freqs.cos(), freqs.sin()))
        q, k = q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin
        k, v = (t.repeat_interleave(HEADS // KV_HEADS, 1) for t in (k, v))
        scores = q @ k.transpose(2, 3) / d**0.5 + torch.full((n, n), float("-inf"), dtype=x.dtype).triu(1)
        return self.o_proj((scores.softmax(-1) @ v).transpose(1, 2).reshape(b, n, -1))


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate_proj = nn.Linear(HIDDEN, 96, bias=False)
        self.up_proj = nn.Linear(HIDDEN, 96, bias=False)
        self.down_proj = nn.Linear(96, HIDDEN, bias=False)

    def forward(self, x):
        return self.down_proj(nn.functional.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.self_attn, self.mlp = Attention(), MLP()
        self.input_layernorm, self.post_attention_layernorm = RMSNorm(HIDDEN), RMSNorm(HIDDEN)

    def forward(self, x):
        x = x + self.self_attn(self.input_layernorm(x))
        return x + self.mlp(self.post_attention_layernorm(x))


class Llama(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed_tokens = nn.Embedding(VOCAB, HIDDEN)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm = RMSNorm(HIDDEN)
        self.lm_head = nn.Linear(HIDDEN, VOCAB, bias=False)

    def forward(self, input_ids):
        x = self.embed_tokens(input_ids)
        for layer in self.layers:
            x = layer(x)
        return self.lm_head(self.norm(x))


def build():
    torch.manual_seed(0)
    model = Llama()
    for name, weight in model.named_parameters():
        if weight.dim() > 1:
            nn.init.normal_(weight, 0.0, 0.15)
    return model.eval()
