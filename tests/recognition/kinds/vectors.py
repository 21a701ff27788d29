"""Stacks without an embedding, which are handed their hidden states."""

import torch
from small import WIDTH, Attention, Block, Gated, Stack
from torch import nn


class Post(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention, self.network = Attention(), Gated()

    def forward(self, x):
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.network(x))


class OnOutput(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2, self.norm3, self.norm4 = (nn.RMSNorm(WIDTH, eps=1e-6) for _ in range(4))
        self.attention, self.network = Attention(), Gated()

    def forward(self, x):
        residual = x
        x = residual + self.norm2(self.attention(self.norm1(x)))
        return x + self.norm4(self.network(self.norm3(x)))


class Posts(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Post() for _ in range(3))

    def forward(self, hidden_states):
        for block in self.blocks:
            hidden_states = block(hidden_states)
        return hidden_states


def sandwiches():
    return Stack(OnOutput)


def plain():
    return Stack(Block, layers=3)


def post():
    return Posts()


def inputs():
    return torch.randn(3, 11, WIDTH, generator=torch.Generator().manual_seed(0))
