"""Encoders of patches and of padded tokens that are made and read in several ways."""

import torch
from small import WIDTH, Attention, Block, Stack
from torch import nn

SIDE, PATCH = 12, 3
COUNT = SIDE // PATCH
PADDING = 0


def by_squares(images):
    x = images.unflatten(1, (COUNT, PATCH)).unflatten(3, (COUNT, PATCH))
    return x.transpose(2, 3).reshape(len(images), COUNT**2, PATCH**2)


def by_squares_of_columns(images):
    return by_squares(images).unflatten(1, (COUNT, COUNT)).transpose(1, 2).flatten(1, 2)


def as_they_lie(images):
    """Wrong: pieces of rows."""
    return images.reshape(len(images), COUNT**2, PATCH**2)


def first(x, norm):
    return norm(x)[:, 0]


def last(x, norm):
    return norm(x)[:, -1]


def mean(x, norm):
    return norm(x).mean(1)


def mean_before_norm(x, norm):
    return norm(x.mean(1))


def mean_without_first(x, norm):
    return norm(x)[:, 1:].mean(1)


class Encoder(nn.Module):
    def __init__(self, cut=by_squares, pooled=mean):
        super().__init__()
        self.cut, self.pooled = cut, pooled
        self.embed, self.norm, self.head = nn.Linear(PATCH**2, WIDTH), nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 5)
        self.positions = nn.Parameter(torch.randn(COUNT**2, WIDTH))
        self.blocks = nn.ModuleList(Block(attention=lambda: Attention(causal=False)) for _ in range(2))

    def forward(self, images):
        x = self.embed(self.cut(images[:, 0])) + self.positions
        for block in self.blocks:
            x = block(x)
        return self.head(self.pooled(x, self.norm))


class Masked(Attention):
    def forward(self, x, mask):
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        logits = (q @ k.transpose(-1, -2)) * q.shape[-1] ** -0.5 + mask
        return self.out((logits.softmax(-1) @ v).transpose(1, 2).flatten(2))


class Padded(nn.Module):
    """An encoder that hides its padding, or all but that."""

    def __init__(self, inverted=False):
        super().__init__()
        self.inverted = inverted
        self.embed, self.head = nn.Embedding(40, WIDTH), nn.Linear(WIDTH, 5)
        self.norm, self.attention, self.last = nn.LayerNorm(WIDTH), Masked(), nn.LayerNorm(WIDTH)

    def forward(self, tokens):
        shown = (tokens != PADDING) != self.inverted
        x = self.embed(tokens)
        x = x + self.attention(self.norm(x), torch.where(shown, 0.0, -1e4)[:, None, None])
        return self.head(self.last(x))


class NormedTwice(nn.Module):
    """Wrong: the norm is called once more for the residual of the network."""

    def __init__(self):
        super().__init__()
        block = Block()
        self.norm1, self.norm2, self.attention, self.network = block.norm1, block.norm2, block.attention, block.network

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return self.norm2(x) + self.network(self.norm2(x))


def normed_twice():
    return Stack(NormedTwice, layers=3)


def images():
    return torch.randn(3, 1, SIDE, SIDE, generator=torch.Generator().manual_seed(0))


def tokens():
    return torch.tensor([[5, 9, 3, 7, 11, 4, 2, 0, 0], [6, 8, 1, 12, 0, 0, 0, 0, 0], [4, 3, 9, 2, 7, 8, 5, 6, 1]])
