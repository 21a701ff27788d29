"""A vision transformer of one's own in torch: a class token without a place, branches scaled by learned vectors."""

import numpy as np
import torch
from torch import nn
from trained import trained


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(x).reshape(b, n, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        weights = (q @ k.transpose(-2, -1) * (d // self.heads) ** -0.5).softmax(dim=-1)
        return self.proj((weights @ v).transpose(1, 2).reshape(b, n, d))


class Block(nn.Module):
    def __init__(self, dim, heads, inner):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim, eps=1e-6), nn.LayerNorm(dim, eps=1e-6)
        self.attn = Attention(dim, heads)
        self.fc1, self.fc2 = nn.Linear(dim, inner), nn.Linear(inner, dim)
        self.scale1, self.scale2 = nn.Parameter(torch.ones(dim) * 0.7), nn.Parameter(torch.ones(dim) * 0.7)

    def forward(self, x):
        x = x + self.scale1 * self.attn(self.norm1(x))
        return x + self.scale2 * self.fc2(nn.functional.gelu(self.fc1(self.norm2(x))))


class Picture(nn.Module):
    def __init__(self, size=12, patch=4, channels=3, dim=32, heads=4, depth=2, classes=9):
        super().__init__()
        self.patch = nn.Conv2d(channels, dim, patch, stride=patch)
        self.cls = nn.Parameter(torch.zeros(1, 1, dim))
        self.places_emb = nn.Parameter(torch.zeros(1, (size // patch) ** 2, dim))
        self.blocks = nn.ModuleList([Block(dim, heads, 48) for _ in range(depth)])
        self.norm = nn.LayerNorm(dim, eps=1e-6)
        self.head = nn.Linear(dim, classes)

    def forward(self, pixels):
        x = self.patch(pixels).flatten(2).transpose(1, 2) + self.places_emb
        x = torch.cat([self.cls.expand(len(x), -1, -1), x], dim=1)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)[:, 0])


def build():
    torch.manual_seed(0)
    return trained(Picture())


def inputs():
    return np.random.default_rng(6).normal(size=(2, 3, 12, 12))
