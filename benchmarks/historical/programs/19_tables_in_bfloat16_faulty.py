"""Rotary embedding of a model that runs in bfloat16."""

import torch

dtypes = ("bfloat16",)


def rotary_embedding(x, positions, base=1000000.0):
    """x is (batch, heads, length, width); halves are rotated against each other."""
    width = x.shape[-1]
    inv_freq = 1.0 / base ** (torch.arange(0, width, 2).float() / width)
    t = positions.to(x.dtype)
    freqs = t[..., None] * inv_freq.to(t.dtype)
    cos, sin = freqs.cos().to(x.dtype), freqs.sin().to(x.dtype)
    if cos.dim() == 3:
        cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat([x1 * cos - x2 * sin, x2 * cos + x1 * sin], dim=-1)
