# Relative positions after Shaw et al.: a learned vector for each clipped distance, multiplied with the query.
import math

import torch
from torch import nn


class RelativeAttention(nn.Module):
    def __init__(self, d, h, reach):
        super().__init__()
        self.h, self.reach = h, reach
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(d, d) for _ in range(4))
        self.relative = nn.Embedding(2 * reach + 1, d // h)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = (w(x).view(b, n, self.h, -1).transpose(1, 2) for w in (self.wq, self.wk, self.wv))
        distance = (torch.arange(n)[None] - torch.arange(n)[:, None]).clamp(-self.reach, self.reach) + self.reach
        by_distance = torch.einsum("bhid,ijd->bhij", q, self.relative(distance))
        scores = (q @ k.transpose(-2, -1) + by_distance) / math.sqrt(d // self.h)
        return self.wo((scores.softmax(-1) @ v).transpose(1, 2).reshape(b, n, d))


class Layer(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.attention, self.n1, self.n2 = RelativeAttention(d, h, 4), nn.LayerNorm(d), nn.LayerNorm(d)
        self.network = nn.Sequential(nn.Linear(d, 2 * d), nn.ReLU(), nn.Linear(2 * d, d))

    def forward(self, x):
        x = self.n1(x + self.attention(x))
        return self.n2(x + self.network(x))


class Encoder(nn.Module):
    def __init__(self, vocab=61, d=40, h=4, depth=3):
        super().__init__()
        self.embed = nn.Embedding(vocab, d)
        self.layers = nn.Sequential(*(Layer(d, h) for _ in range(depth)))
        self.out = nn.Linear(d, vocab)

    def forward(self, ids):
        return self.out(self.layers(self.embed(ids) * math.sqrt(40)))


def build():
    torch.manual_seed(15)
    return Encoder()
