"""Attention whose heads stand in axes of their own, before or behind that of the samples."""

import math

import torch
from torch import nn


class ByHead(nn.Module):
    """One matrix for each head; the heads' outputs are summed."""

    def __init__(self, d, h):
        super().__init__()
        self.wq, self.wk, self.wv = (nn.Parameter(torch.randn(h, d, d // h)) for _ in range(3))
        self.bq, self.bk, self.bv = (nn.Parameter(torch.zeros(h, 1, d // h)) for _ in range(3))
        self.wo, self.bo = nn.Parameter(torch.randn(h, d // h, d)), nn.Parameter(torch.zeros(d))

    def heads(self, x):
        return ((x.unsqueeze(1) @ w + b) for w, b in ((self.wq, self.bq), (self.wk, self.bk), (self.wv, self.bv)))

    def merged(self, y):
        return (y @ self.wo).sum(1) + self.bo

    def forward(self, x):
        q, k, v = self.heads(x)
        hidden = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
        logits = (q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])).masked_fill(hidden, float("-inf"))
        return self.merged(logits.softmax(-1) @ v)


class HeadsFirst(ByHead):
    """The same with the heads before the samples."""

    def heads(self, x):
        pairs = ((self.wq, self.bq), (self.wk, self.bk), (self.wv, self.bv))
        return ((x.unsqueeze(0) @ w[:, None] + b[:, None]) for w, b in pairs)

    def merged(self, y):
        return (y @ self.wo[:, None]).sum(0) + self.bo


class Joined(nn.Module):
    """The heads are put one after the other along the axis of the samples."""

    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.q, self.k, self.v, self.o = (nn.Linear(d, d) for _ in range(4))

    def forward(self, x):
        samples, length, d = x.shape
        q, k, v = (torch.cat(one(x).split(d // self.h, -1), 0) for one in (self.q, self.k, self.v))
        hidden = torch.ones(length, length, dtype=torch.bool).triu(1)
        logits = (q @ k.transpose(-1, -2) / math.sqrt(d // self.h)).masked_fill(hidden, float("-inf"))
        return self.o(torch.cat((logits.softmax(-1) @ v).split(samples, 0), -1))


class GPT(nn.Module):
    def __init__(self, kind, vocabulary=60, d=32, h=4, layers=2):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, d), nn.Embedding(32, d)
        self.attentions = nn.ModuleList([kind(d, h) for _ in range(layers)])
        self.norms = nn.ModuleList([nn.LayerNorm(d) for _ in range(2 * layers + 1)])
        self.networks = nn.ModuleList(
            [nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d)) for _ in range(layers)]
        )
        self.head = nn.Linear(d, vocabulary)

    def forward(self, ids):
        x = self.tokens(ids) + self.positions(torch.arange(ids.shape[1]))
        for at, (attention, network) in enumerate(zip(self.attentions, self.networks, strict=True)):
            x = x + attention(self.norms[2 * at](x))
            x = x + network(self.norms[2 * at + 1](x))
        return self.head(self.norms[-1](x))


def by_head():
    return GPT(ByHead)


def heads_first():
    return GPT(HeadsFirst)


def joined():
    return GPT(Joined)
