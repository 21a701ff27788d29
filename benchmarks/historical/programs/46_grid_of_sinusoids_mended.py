"""A hybrid encoder over a map of features, with sinusoids of rows and columns."""

import torch
from torch import nn


def build_2d_sincos_position_embedding(width, height, dim, temperature=10000.0):
    grid_w, grid_h = torch.meshgrid(torch.arange(width).float(), torch.arange(height).float(), indexing="xy")
    omega = 1.0 / temperature ** (torch.arange(dim // 4).float() / (dim // 4))
    out_w, out_h = grid_w.flatten()[:, None] * omega, grid_h.flatten()[:, None] * omega
    return torch.cat([out_w.sin(), out_w.cos(), out_h.sin(), out_h.cos()], dim=1)[None]


class EncoderLayer(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.self_attn_layer_norm, self.final_layer_norm = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.fc1, self.fc2 = nn.Linear(dim, 2 * dim), nn.Linear(2 * dim, dim)

    def forward(self, x, pos):
        q = x + pos
        x = self.self_attn_layer_norm(x + self.self_attn(q, q, value=x, need_weights=False)[0])
        return self.final_layer_norm(x + self.fc2(nn.functional.gelu(self.fc1(x))))


class HybridEncoder(nn.Module):
    def __init__(self, dim=32, heads=4, layers=1):
        super().__init__()
        self.layers = nn.ModuleList(EncoderLayer(dim, heads) for _ in range(layers))
        self.dim = dim

    def forward(self, features):
        height, width = features.shape[-2:]
        x = features.flatten(2).permute(0, 2, 1)
        pos = build_2d_sincos_position_embedding(width, height, self.dim).to(x.dtype)
        for layer in self.layers:
            x = layer(x, pos)
        return x.permute(0, 2, 1).reshape(features.shape)


def build():
    torch.manual_seed(0)
    return HybridEncoder().eval()


def inputs():
    return torch.randn(2, 32, 3, 5, generator=torch.Generator().manual_seed(1))
