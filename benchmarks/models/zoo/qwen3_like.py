"""Qwen 3 in small: the queries and keys of each head are normalised before they are rotated."""

import torch
import torch.nn.functional as F
from torch import nn

cfg = dict(vocab=93, width=30, heads=3, groups=1, head_dim=16, hidden=56, depth=3, base=1_000_000.0, context=25)


class RMSNorm(nn.Module):
    def __init__(self, emb_dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(emb_dim))

    def forward(self, x):
        variance = x.pow(2).mean(dim=-1, keepdim=True)
        return x * torch.rsqrt(variance + self.eps) * self.scale


def compute_rope_params(head_dim, theta_base, context_length):
    inv_freq = 1.0 / (theta_base ** (torch.arange(0, head_dim, 2)[: (head_dim // 2)].float() / head_dim))
    angles = torch.arange(context_length)[:, None] * inv_freq[None, :]
    angles = torch.cat([angles, angles], dim=1)
    return torch.cos(angles), torch.sin(angles)


def apply_rope(x, cos, sin):
    # x: (batch_size, num_heads, seq_len, head_dim)
    seq_len, head_dim = x.shape[2:]
    x1 = x[..., : head_dim // 2]
    x2 = x[..., head_dim // 2 :]
    cos = cos[:seq_len, :].unsqueeze(0).unsqueeze(0)
    sin = sin[:seq_len, :].unsqueeze(0).unsqueeze(0)
    rotated = torch.cat((-x2, x1), dim=-1)
    return (x * cos) + (rotated * sin)


class GroupedQueryAttention(nn.Module):
    def __init__(self, cfg, depth):
        super().__init__()
        self.depth = depth
        self.num_heads, self.num_kv_groups, self.head_dim = cfg["heads"], cfg["groups"], cfg["head_dim"]
        self.group_size = self.num_heads // self.num_kv_groups
        self.d_out = self.num_heads * self.head_dim
        self.W_query = nn.Linear(cfg["width"], self.d_out, bias=False)
        self.W_key = nn.Linear(cfg["width"], self.num_kv_groups * self.head_dim, bias=False)
        self.W_value = nn.Linear(cfg["width"], self.num_kv_groups * self.head_dim, bias=False)
        self.out_proj = nn.Linear(self.d_out, cfg["width"], bias=False)
        self.q_norm = RMSNorm(self.head_dim)
        self.k_norm = RMSNorm(self.head_dim)

    def forward(self, x, mask, cos, sin):
        b, num_tokens, _ = x.shape
        queries = self.W_query(x).view(b, num_tokens, self.num_heads, self.head_dim).transpose(1, 2)
        keys = self.W_key(x).view(b, num_tokens, self.num_kv_groups, self.head_dim).transpose(1, 2)
        values = self.W_value(x).view(b, num_tokens, self.num_kv_groups, self.head_dim).transpose(1, 2)

        queries = self.q_norm(queries)
        keys = self.k_norm(keys)
        queries = apply_rope(queries, cos, sin)
        keys = apply_rope(keys, cos, sin)

        keys = keys.repeat_interleave(self.group_size, dim=1)
        values = values.repeat_interleave(self.group_size, dim=1)

        attn_scores = queries @ keys.transpose(2, 3)
        attn_scores = attn_scores.masked_fill(mask, -torch.inf)
        attn_weights = torch.softmax(attn_scores / self.head_dim**0.5, dim=-1)
        context = (attn_weights @ values).transpose(1, 2).reshape(b, num_tokens, self.d_out)
        return self.out_proj(context)


class FeedForward(nn.Module):
    def __init__(self, cfg, depth):
        super().__init__()
        self.depth = depth
        self.fc1 = nn.Linear(cfg["width"], cfg["hidden"], bias=False)
        self.fc2 = nn.Linear(cfg["width"], cfg["hidden"], bias=False)
        self.fc3 = nn.Linear(cfg["hidden"], cfg["width"], bias=False)

    def forward(self, x):
        x_fc1 = self.fc1(x)
        x_fc2 = self.fc2(x)
        return self.fc3(F.silu(x_fc1) * x_fc2)


class TransformerBlock(nn.Module):
    def __init__(self, cfg, depth):
        super().__init__()
        self.depth = depth
        self.att = GroupedQueryAttention(cfg, depth)
        self.ff = FeedForward(cfg, depth)
        self.norm1 = RMSNorm(cfg["width"])
        self.norm2 = RMSNorm(cfg["width"])

    def forward(self, x, mask, cos, sin):
        # Shortcut connection for attention block
        shortcut = x
        x = self.norm1(x)
        x = self.att(x, mask, cos, sin)
        x = x + shortcut

        # Shortcut connection for feed-forward block
        shortcut = x
        x = self.norm2(x)
        x = self.ff(x)
        x = x + shortcut
        return x


class Qwen3Model(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.tok_emb = nn.Embedding(cfg["vocab"], cfg["width"])
        self.trf_blocks = nn.ModuleList([TransformerBlock(cfg, i) for i in range(cfg["depth"])])
        self.final_norm = RMSNorm(cfg["width"])
        self.out_head = nn.Linear(cfg["width"], cfg["vocab"], bias=False)
        cos, sin = compute_rope_params(cfg["head_dim"], cfg["base"], cfg["context"])
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)

    def forward(self, in_idx):
        x = self.tok_emb(in_idx)
        num_tokens = x.shape[1]
        mask = torch.triu(torch.ones(num_tokens, num_tokens, device=x.device, dtype=torch.bool), diagonal=1)
        for block in self.trf_blocks:
            x = block(x, mask, self.cos, self.sin)
        x = self.final_norm(x)
        logits = self.out_head(x)
        return logits


def build():
    torch.manual_seed(123)
    return Qwen3Model(cfg)
