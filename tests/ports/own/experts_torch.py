"""A mixture of experts after Mixtral: each token goes to its two best experts."""

import torch
from drawn import redrawn
from torch import nn

D, HID, E, TOP, N = 14, 20, 4, 2, 2


class Expert(nn.Module):
    def __init__(self):
        super().__init__()
        self.w1, self.w3 = nn.Linear(D, HID, bias=False), nn.Linear(D, HID, bias=False)
        self.w2 = nn.Linear(HID, D, bias=False)

    def forward(self, x):
        return self.w2(nn.functional.silu(self.w1(x)) * self.w3(x))


class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        self.router = nn.Linear(D, E, bias=False)
        self.experts = nn.ModuleList([Expert() for _ in range(E)])

    def forward(self, x):
        flat = x.reshape(-1, D)
        weights, chosen = self.router(flat).softmax(-1).topk(TOP, -1)
        weights = weights / weights.sum(-1, keepdim=True)
        out = torch.zeros_like(flat)
        for e, expert in enumerate(self.experts):
            row, place = torch.where(chosen == e)
            out.index_add_(0, row, expert(flat[row]) * weights[row, place, None])
        return out.view_as(x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(6, D)
        self.norms = nn.ModuleList([nn.LayerNorm(D) for _ in range(N)])
        self.layers = nn.ModuleList([Experts() for _ in range(N)])
        self.head = nn.Linear(D, 3)

    def forward(self, x):
        x = self.stem(x)
        for norm, layer in zip(self.norms, self.layers, strict=True):
            x = x + layer(norm(x))
        return self.head(x)


def build():
    return redrawn(Net())


def inputs():
    return torch.randn(2, 8, 6, generator=torch.Generator().manual_seed(1))
