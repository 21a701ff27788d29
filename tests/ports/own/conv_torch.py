"""A causal convolutional mixer with gates, as an audio model has it."""

import torch
from drawn import redrawn
from torch import nn

C, K, N, OUT = 16, 3, 3, 5


class GatedConv(nn.Module):
    def __init__(self, dilation):
        super().__init__()
        self.dilation = dilation
        self.norm = nn.LayerNorm(C)
        self.depthwise = nn.Conv1d(C, C, K, groups=C, dilation=dilation)
        self.wide = nn.Linear(C, 2 * C)
        self.narrow = nn.Linear(C, C)
        self.scale = nn.Parameter(torch.full((C,), 0.5))

    def forward(self, x):
        y = self.norm(x)
        y = nn.functional.pad(y.transpose(1, 2), (self.dilation * (K - 1), 0))
        y = self.depthwise(y).transpose(1, 2)
        a, b = self.wide(y).chunk(2, dim=-1)
        return x + self.scale * self.narrow(torch.tanh(a) * torch.sigmoid(b))


class Mixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(4, C)
        self.layers = nn.ModuleList([GatedConv(2**i) for i in range(N)])
        self.head = nn.Linear(C, OUT)

    def forward(self, x):
        x = self.stem(x)
        for layer in self.layers:
            x = layer(x)
        return self.head(nn.functional.relu(x).mean(1))


def build():
    return redrawn(Mixer())


def inputs():
    return torch.randn(2, 11, 4, generator=torch.Generator().manual_seed(5))
