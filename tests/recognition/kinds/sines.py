"""Encoders with tables of sines of positions in several layouts, from the first row or another."""

import torch
from small import WIDTH, Attention, Block, Stack
from torch import nn

LENGTH = 20


def sines(layout, is_last_exact, base=10000.0):
    half = WIDTH // 2
    frequencies = base ** (-torch.arange(half) / (half - int(is_last_exact)))
    angles = torch.arange(LENGTH)[:, None] * frequencies
    if layout == "halves":
        return torch.cat((angles.sin(), angles.cos()), 1)
    return torch.stack((angles.sin(), angles.cos()), 2).flatten(1)


class Encoder(nn.Module):
    """Vectors, sines and a stack; `start` is the row of the first position."""

    def __init__(self, layout="halves", is_last_exact=True, start=0, base=10000.0):
        super().__init__()
        self.embed, self.stack = (
            nn.Embedding(50, WIDTH),
            Stack(lambda: Block(attention=lambda: Attention(causal=False))),
        )
        self.start, self.head = start, nn.Linear(WIDTH, 50)
        self.register_buffer("sines", sines(layout, is_last_exact, base))

    def forward(self, tokens):
        x = self.embed(tokens) + self.sines[self.start : self.start + tokens.shape[1]]
        return self.head(self.stack(x))
