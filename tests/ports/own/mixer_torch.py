"""An MLP-mixer of patches: one network over positions, one over channels."""

import torch
from drawn import redrawn
from torch import nn

P, L, D, T, C, N = 12, 9, 16, 10, 22, 2


class Mlp(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(width, hidden), nn.Linear(hidden, width)

    def forward(self, x):
        return self.fc2(nn.functional.gelu(self.fc1(x)))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(D, eps=1e-6), nn.LayerNorm(D, eps=1e-6)
        self.tokens, self.channels = Mlp(L, T), Mlp(D, C)

    def forward(self, x):
        x = x + self.tokens(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.channels(self.norm2(x))


class Mixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch = nn.Linear(P, D)
        self.blocks = nn.ModuleList([Block() for _ in range(N)])
        self.norm, self.head = nn.LayerNorm(D, eps=1e-6), nn.Linear(D, 7)

    def forward(self, x):
        x = self.patch(x)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x).mean(1))


def build():
    return redrawn(Mixer())


def inputs():
    return torch.randn(3, L, P, generator=torch.Generator().manual_seed(2))
