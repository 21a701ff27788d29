"""A small Llama in torch, whose rotary embedding pairs components in either of two ways."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

WIDTH, HEADS, GROUPS, LAYERS, TOKENS = 16, 4, 2, 2, 31
SIZE = WIDTH // HEADS


class Norm(nn.Module):
    def __init__(self, eps: float) -> None:
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(WIDTH)), eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.eps) * self.weight


class Layer(nn.Module):
    def __init__(self, eps: float, first: int, *, interleaved: bool) -> None:
        super().__init__()
        self.norm_1, self.norm_2 = Norm(eps), Norm(eps)
        self.q, self.o = nn.Linear(WIDTH, WIDTH, bias=False), nn.Linear(WIDTH, WIDTH, bias=False)
        self.k, self.v = (nn.Linear(WIDTH, GROUPS * SIZE, bias=False) for _ in range(2))
        self.gate, self.up = (nn.Linear(WIDTH, 24, bias=False) for _ in range(2))
        self.down = nn.Linear(24, WIDTH, bias=False)
        self.first, self.interleaved = first, interleaved

    def turned(self, x: torch.Tensor) -> torch.Tensor:
        angles = torch.outer(
            torch.arange(self.first, self.first + x.shape[2], dtype=x.dtype),
            100.0 ** (-torch.arange(0, SIZE, 2, dtype=x.dtype) / SIZE),
        )
        cos, sin = angles.cos(), angles.sin()
        if self.interleaved:
            a, b = x[..., 0::2], x[..., 1::2]
            return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)
        a, b = x.chunk(2, dim=-1)
        return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm_1(x)
        q, k, v = (one(y).view(*y.shape[:2], -1, SIZE).transpose(1, 2) for one in (self.q, self.k, self.v))
        k, v = (one.repeat_interleave(HEADS // GROUPS, dim=1) for one in (self.turned(k), v))
        y = nn.functional.scaled_dot_product_attention(self.turned(q), k, v, is_causal=True)
        x = x + self.o(y.transpose(1, 2).flatten(2))
        y = self.norm_2(x)
        return x + self.down(nn.functional.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    def __init__(self, eps: float = 1e-5, first: int = 0, *, interleaved: bool = False) -> None:
        super().__init__()
        self.table = nn.Embedding(TOKENS, WIDTH)
        self.layers = nn.ModuleList([Layer(eps, first, interleaved=interleaved) for _ in range(LAYERS)])
        self.norm, self.head = Norm(eps), nn.Linear(WIDTH, TOKENS, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.table(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


def llama(seed: int = 0, **choices: Any) -> Llama:
    """Return a Llama whose weights depend on the seed alone."""
    model = Llama(**choices)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            parameter.copy_(parameter + 0.3 * noise if parameter.ndim == 1 else 0.4 * noise)
    return model


def in_pairs(model: Llama) -> Llama:
    """Put the components of queries and keys into the order in which neighbours are a pair."""
    order = torch.arange(SIZE).view(2, -1).T.flatten()
    with torch.no_grad():
        for layer in model.layers:
            for one in (layer.q, layer.k):
                heads = one.weight.view(-1, SIZE, WIDTH)
                one.weight.copy_(heads[:, order].reshape(-1, WIDTH))
    return model
