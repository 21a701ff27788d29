"""Norms in other words, right and wrong ones, in every place."""

import torch
from small import WIDTH, Attention, Block, Decoder, Gated
from torch import nn


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.g = nn.Parameter(torch.ones(WIDTH))


class Shifted(Norm):
    def __init__(self):
        super().__init__()
        self.b = nn.Parameter(torch.zeros(WIDTH))


class Normalised(Norm):
    def forward(self, x):
        return nn.functional.normalize(x, dim=-1) * WIDTH**0.5 * self.g


class GainFirst(Norm):
    def forward(self, x):
        return self.g * nn.functional.normalize(x, dim=-1) * WIDTH**0.5


class ByLength(Norm):
    def forward(self, x):
        return x / x.norm(dim=-1, keepdim=True) * WIDTH**0.5 * (1 + self.g)


class EpsBesideDeviation(Shifted):
    """Wrong."""

    def forward(self, x):
        centred = x - x.mean(-1, keepdim=True)
        return self.g * centred / (x.var(-1, correction=0, keepdim=True).sqrt() + 1e-5) + self.b


class EpsBesideRoot(Norm):
    """Wrong."""

    def forward(self, x):
        return self.g * x / (x.square().mean(-1, keepdim=True).sqrt() + 1e-5)


class Unbiased(Shifted):
    """Wrong."""

    def forward(self, x):
        return self.g * (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True) + 1e-6).sqrt() + self.b


class Sandwich(nn.Module):
    def __init__(self, norm, other=nn.RMSNorm):
        super().__init__()
        self.before1, self.after1, self.before2, self.after2 = other(WIDTH), norm(), other(WIDTH), norm()
        self.attention, self.network = Attention(), Gated()

    def forward(self, x):
        x = x + self.after1(self.attention(self.before1(x)))
        return x + self.after2(self.network(self.before2(x)))


def after(norm):
    return Decoder(lambda: Sandwich(norm))


def before(norm):
    return Decoder(lambda: Block(norm=norm), norm=norm)
