"""Gemma 2 in small."""

import torch
import torch.nn.functional as F
from torch import nn


class GemmaConfig:
    vocab_size = 85
    hidden_size = 38
    num_layers = 4
    num_heads = 4
    num_kv_heads = 2
    head_dim = 8
    intermediate_size = 72
    rms_norm_eps = 1e-6
    query_pre_attn_scalar = 10
    sliding_window = 4
    attn_logit_softcapping = 50.0
    final_logit_softcapping = 30.0


class GemmaRMSNorm(nn.Module):
    """The weight is stored as the difference from one."""

    def __init__(self, dim, eps):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        normed = x * torch.rsqrt(x.square().mean(dim=-1, keepdim=True) + self.eps)
        return normed * (1 + self.weight)


class GemmaMLP(nn.Module):
    def __init__(self, config, layer_idx):
        super().__init__()
        self.layer_idx = layer_idx
        self.gate_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.up_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.down_proj = nn.Linear(config.intermediate_size, config.hidden_size, bias=False)

    def forward(self, x):
        gate = F.gelu(self.gate_proj(x), approximate="tanh")
        return self.down_proj(gate * self.up_proj(x))


def apply_rope(x, base=10_000):
    *_, length, dim = x.shape
    half = dim // 2
    timescale = base ** (2 * torch.arange(half, device=x.device, dtype=x.dtype) / dim)
    radians = torch.arange(length, device=x.device, dtype=x.dtype)[:, None] / timescale
    sin, cos = radians.sin(), radians.cos()
    first, second = x.split(half, dim=-1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)


class GemmaAttention(nn.Module):
    def __init__(self, config, layer_idx):
        super().__init__()
        self.layer_idx = layer_idx
        self.config = config
        self.is_sliding = layer_idx % 2 == 0
        self.scaling = config.query_pre_attn_scalar**-0.5
        self.qkv_proj = nn.Linear(
            config.hidden_size, (config.num_heads + 2 * config.num_kv_heads) * config.head_dim, bias=False
        )
        self.o_proj = nn.Linear(config.num_heads * config.head_dim, config.hidden_size, bias=False)

    def forward(self, x):
        cfg = self.config
        batch, length, _ = x.shape
        q_size, kv_size = cfg.num_heads * cfg.head_dim, cfg.num_kv_heads * cfg.head_dim
        q, k, v = self.qkv_proj(x).split([q_size, kv_size, kv_size], dim=-1)
        q = q.view(batch, length, cfg.num_heads, cfg.head_dim).transpose(1, 2)
        k = k.view(batch, length, cfg.num_kv_heads, cfg.head_dim).transpose(1, 2)
        v = v.view(batch, length, cfg.num_kv_heads, cfg.head_dim).transpose(1, 2)
        q = apply_rope(q) * self.scaling
        k = apply_rope(k)

        # queries in groups: (batch, kv_heads, group, length, head_dim)
        q = q.reshape(batch, cfg.num_kv_heads, -1, length, cfg.head_dim)
        logits = torch.einsum("bkgqd,bksd->bkgqs", q, k)
        logits = torch.tanh(logits / cfg.attn_logit_softcapping) * cfg.attn_logit_softcapping
        rows = torch.arange(length, device=x.device)[:, None]
        cols = torch.arange(length, device=x.device)[None, :]
        visible = cols <= rows
        if self.is_sliding:
            visible = visible & (cols > rows - cfg.sliding_window)
        logits = torch.where(visible, logits, -2.3819763e38)
        probs = logits.softmax(-1)
        out = torch.einsum("bkgqs,bksd->bqkgd", probs, v).reshape(batch, length, -1)
        return self.o_proj(out)


class GemmaDecoderLayer(nn.Module):
    def __init__(self, config, layer_idx):
        super().__init__()
        self.layer_idx = layer_idx
        self.self_attn = GemmaAttention(config, layer_idx)
        self.mlp = GemmaMLP(config, layer_idx)
        self.input_layernorm = GemmaRMSNorm(config.hidden_size, config.rms_norm_eps)
        self.post_attention_layernorm = GemmaRMSNorm(config.hidden_size, config.rms_norm_eps)
        self.pre_feedforward_layernorm = GemmaRMSNorm(config.hidden_size, config.rms_norm_eps)
        self.post_feedforward_layernorm = GemmaRMSNorm(config.hidden_size, config.rms_norm_eps)

    def forward(self, x):
        residual = x
        x = self.input_layernorm(x)
        x = self.self_attn(x)
        x = self.post_attention_layernorm(x)
        x = residual + x

        residual = x
        x = self.pre_feedforward_layernorm(x)
        x = self.mlp(x)
        x = self.post_feedforward_layernorm(x)
        x = residual + x
        return x


class Gemma2(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.embedder = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList(GemmaDecoderLayer(config, i) for i in range(config.num_layers))
        self.norm = GemmaRMSNorm(config.hidden_size, config.rms_norm_eps)

    def forward(self, input_token_ids):
        hidden = self.embedder(input_token_ids)
        # Gemma normalises the embedding by sqrt(hidden_size)
        hidden = hidden * self.config.hidden_size**0.5
        for layer in self.layers:
            hidden = layer(hidden)
        hidden = self.norm(hidden)
        logits = torch.matmul(hidden, self.embedder.weight.t())
        cap = self.config.final_logit_softcapping
        return cap * torch.tanh(logits / cap)


def build():
    torch.manual_seed(2)
    return Gemma2(GemmaConfig())
