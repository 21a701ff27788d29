"""A retentive network: linear attention whose past decays, in parallel form, with a swish gate."""

import torch
from drawn import redrawn
from torch import nn

V, D, H, N = 37, 24, 3, 2


class Retention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.g, self.o = (nn.Linear(D, D, bias=False) for _ in range(5))
        self.norm = nn.GroupNorm(H, D)
        self.register_buffer("decay", 1 - 2.0 ** (-2 - torch.arange(H)))

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = (f(x).view(b, t, H, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
        n = torch.arange(t, dtype=x.dtype)
        gap = n[:, None] - n[None, :]
        mask = torch.where(gap >= 0, self.decay[:, None, None] ** gap, 0.0)
        y = ((q @ k.transpose(-1, -2)) * (D // H) ** -0.5 * mask) @ v
        y = y.transpose(1, 2).reshape(b * t, D)
        y = self.norm(y).view(b, t, D)
        return self.o(nn.functional.silu(self.g(x)) * y)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.mix = nn.RMSNorm(D, eps=1e-5), Retention()

    def forward(self, x):
        return x + self.mix(self.norm(x))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(V, D)
        self.blocks = nn.ModuleList([Block() for _ in range(N)])
        self.out = nn.Linear(D, V)

    def forward(self, ids):
        x = self.emb(ids)
        for block in self.blocks:
            x = block(x)
        return self.out(x)


def build():
    return redrawn(Net())


def inputs():
    return torch.randint(0, V, (2, 7), generator=torch.Generator().manual_seed(3))
