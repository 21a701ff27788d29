"""Attention with relative positions after Shaw: distances up to three have vectors for keys and for values."""

import torch
from drawn import redrawn
from torch import nn

V, D, H, M, N = 33, 20, 4, 3, 2
E = D // H


class Shaw(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(D, 3 * D), nn.Linear(D, D)
        self.near_keys, self.near_values = nn.Embedding(2 * M + 1, E), nn.Embedding(2 * M + 1, E)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, H, E).permute(2, 0, 3, 1, 4)
        place = torch.arange(t)
        gap = (place[None, :] - place[:, None]).clamp(-M, M) + M
        scores = q @ k.transpose(-1, -2) + torch.einsum("bhie,ije->bhij", q, self.near_keys(gap))
        weights = (scores / E**0.5).softmax(-1)
        y = weights @ v + torch.einsum("bhij,ije->bhie", weights, self.near_values(gap))
        return self.out(y.transpose(1, 2).reshape(b, t, D))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention, self.norm = Shaw(), nn.LayerNorm(D)
        self.wide, self.narrow, self.last = nn.Linear(D, 32), nn.Linear(32, D), nn.LayerNorm(D)

    def forward(self, x):
        x = self.norm(x + self.attention(x))
        return self.last(x + self.narrow(torch.relu(self.wide(x))))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(V, D)
        self.layers = nn.ModuleList([Layer() for _ in range(N)])

    def forward(self, ids):
        x = self.words(ids)
        for layer in self.layers:
            x = layer(x)
        return x


def build():
    return redrawn(Encoder())


def inputs():
    return torch.randint(0, V, (2, 9), generator=torch.Generator().manual_seed(8))
