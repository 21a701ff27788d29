"""Layers whose outputs are multiplied by a learned vector before they are added, as those of CaiT are."""

import torch
from small import WIDTH, Block, Decoder
from torch import nn


class LayerScale(Block):
    def __init__(self):
        super().__init__()
        self.gains = nn.ParameterList(nn.Parameter(torch.randn(WIDTH)) for _ in range(2))

    def forward(self, x):
        x = x + self.gains[0] * self.attention(self.norm1(x))
        return x + self.network(self.norm2(x)) * self.gains[1]


def decoder(*blocks):
    ways = iter(blocks)
    return Decoder(lambda: next(ways)(), layers=len(blocks))
