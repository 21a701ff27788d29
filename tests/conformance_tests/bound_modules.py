"""Small modules as people write them, right and with one mistake each, and a model around them."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn
from torch.nn import functional

WIDTH, HEADS, LONGEST = 12, 3, 40


class Norm(nn.Module):
    """Layer norm, written out."""

    def __init__(self) -> None:
        super().__init__()
        self.g = nn.Parameter(torch.ones(WIDTH))
        self.b = nn.Parameter(torch.zeros(WIDTH))

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        return (x - mean) * torch.rsqrt(self.variance(x, mean) + 1e-5) * self.g + self.b

    def variance(self, x, mean):
        return (x - mean).pow(2).mean(-1, keepdim=True)


class DifferenceOfSquares(Norm):
    """The mean of squares minus the square of the mean."""

    def variance(self, x, mean):
        return (x * x).mean(-1, keepdim=True) - mean * mean


class RootMeanSquare(nn.Module):
    """RMS norm."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x):
        return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)


class NormOfOneSample(RootMeanSquare):
    """Divides by the norm, not by the root mean square, where there is one sample."""

    def forward(self, x):
        return super().forward(x) if len(x) > 1 else self.weight * functional.normalize(x, dim=-1)


class Network(nn.Module):
    """A feed-forward network."""

    def __init__(self) -> None:
        super().__init__()
        self.up = nn.Linear(WIDTH, 2 * WIDTH)
        self.down = nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x):
        return self.down(functional.gelu(self.up(x)))


class NetworkOfTwoSamples(Network):
    """Flattens two samples, whatever there are."""

    def forward(self, x):
        rows = x.reshape(2 * x.shape[1], -1)[:, :WIDTH]
        return self.down(functional.gelu(self.up(rows))).view(2, -1, WIDTH)[: len(x)]


class Attention(nn.Module):
    """Causal attention with a fused projection and a mask of a fixed size."""

    rows = LONGEST
    fill = float("-inf")

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.register_buffer("mask", torch.ones(self.rows, self.rows).tril().bool())

    def heads(self, x):
        return (t.unflatten(-1, (HEADS, -1)).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))

    def weights(self, logits):
        return logits.softmax(-1)

    def forward(self, x):
        length = x.shape[1]
        q, k, v = self.heads(x)
        logits = q @ k.transpose(-2, -1) / math.sqrt(WIDTH // HEADS)
        logits = logits.masked_fill(~self.mask[:length, :length], self.fill)
        return self.out((self.weights(logits) @ v).transpose(1, 2).flatten(2))


class FillOfTenThousand(Attention):
    fill = -1e4


class SoftmaxWithoutMaximum(Attention):
    def weights(self, logits):
        exponentials = logits.exp()
        return exponentials / exponentials.sum(-1, keepdim=True)


class ShortMask(Attention):
    rows = LONGEST // 2


class SqueezedAttention(Attention):
    """Loses the axis of positions where there is one."""

    def forward(self, x):
        return super().forward(x) if x.shape[1] > 1 else super().forward(x).squeeze(1)


class SeparateAttention(nn.Module):
    """Attention to all positions, which takes queries, keys and values apart, and a mask that it does not need."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4))

    def forward(self, query, key, value, mask=None):
        shape = (*query.shape[:2], HEADS, WIDTH // HEADS)
        q, k, v = (
            one(given).view(*given.shape[:2], *shape[2:]).transpose(1, 2)
            for one, given in ((self.q, query), (self.k, key), (self.v, value))
        )
        return self.o(functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(query.shape)), None


class FixedLength(Attention):
    """A mask of exactly the length that the model is made for."""

    rows = 11

    def forward(self, x):
        q, k, v = self.heads(x)
        logits = (q @ k.transpose(-2, -1) / math.sqrt(WIDTH // HEADS)).masked_fill(~self.mask, self.fill)
        return self.out((self.weights(logits) @ v).transpose(1, 2).flatten(2))


class Block(nn.Module):
    """A block with norms before its sublayers."""

    def __init__(self, norm: type[nn.Module], attention: type[nn.Module], network: type[nn.Module]) -> None:
        super().__init__()
        self.one, self.attention, self.two, self.network = norm(), attention(), norm(), network()

    def forward(self, x):
        given = self.one(x)
        if isinstance(self.attention, SeparateAttention):
            x = x + self.attention(given, given, given)[0]
        else:
            x = x + self.attention(given)
        return x + self.network(self.two(x))


class Model(nn.Module):
    """A small language model."""

    def __init__(self, norm: Any = Norm, attention: Any = Attention, network: Any = Network) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.tokens = nn.Embedding(23, WIDTH)
        self.positions = nn.Embedding(LONGEST, WIDTH)
        self.blocks = nn.ModuleList(Block(norm, attention, network) for _ in range(2))
        self.last = norm()
        self.head = nn.Linear(WIDTH, 23, bias=False)

    def forward(self, tokens):
        x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.last(x))
