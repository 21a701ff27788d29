"""Attention in windows over a grid; every second layer shifts them."""

import torch
from torch import nn
from torch.nn import functional as F

WINDOW, SHIFT = (2, 4), (1, 2)


class WindowAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.qkv, self.proj = heads, nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, x, mask=None):
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.proj(y.transpose(1, 2).flatten(2))


def partition(x):
    b, h, w, c = x.shape
    x = x.view(b, h // WINDOW[0], WINDOW[0], w // WINDOW[1], WINDOW[1], c)
    return x.transpose(2, 3).reshape(-1, WINDOW[0] * WINDOW[1], c)


def reverse(windows, b, h, w):
    x = windows.view(b, h // WINDOW[0], w // WINDOW[1], WINDOW[0], WINDOW[1], -1)
    return x.transpose(2, 3).reshape(b, h, w, -1)


def shift_mask(b, h, w):
    rows, columns = torch.zeros(h), torch.zeros(w)
    for axis, size, step in ((rows, WINDOW[0], SHIFT[0]), (columns, WINDOW[1], SHIFT[1])):
        axis[-size:-step], axis[-step:] = 1, 2
    region = partition((3 * rows[:, None] + columns)[None, :, :, None])[..., 0]
    return (region[:, :, None] == region[:, None]).repeat(b, 1, 1)[:, None]


class Block(nn.Module):
    def __init__(self, dim, heads, shifted):
        super().__init__()
        self.shifted, self.attn = shifted, WindowAttention(dim, heads)
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        b, h, w, _ = x.shape
        y, mask = self.norm1(x), None
        if self.shifted:
            y = torch.roll(y, (-SHIFT[0], -SHIFT[0]), (1, 2))
            mask = shift_mask(b, h, w)
        y = reverse(self.attn(partition(y), mask), b, h, w)
        if self.shifted:
            y = torch.roll(y, SHIFT, (1, 2))
        x = x + y
        return x + self.mlp(self.norm2(x))


class Swin(nn.Module):
    def __init__(self, dim=32, heads=4):
        super().__init__()
        self.blocks = nn.ModuleList(Block(dim, heads, shifted) for shifted in (False, True))
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.norm(x)


def build():
    torch.manual_seed(0)
    return Swin().eval()


def inputs():
    return torch.randn(2, 4, 8, 32, generator=torch.Generator().manual_seed(1))
