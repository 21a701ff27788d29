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


class Channels(nn.Module):
    """Projections are convolutions of width one: channels come before positions."""

    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.q, self.k, self.v, self.o = (nn.Conv1d(d, d, 1) for _ in range(4))

    def forward(self, x):
        c = x.transpose(1, 2)
        q, k, v = (one(c).unflatten(1, (self.h, -1)) for one in (self.q, self.k, self.v))
        logits = torch.einsum("bhdl,bhds->bhls", q, k) / math.sqrt(q.shape[2])
        hidden = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
        weights = logits.masked_fill(hidden, float("-inf")).softmax(-1)
        return self.o(torch.einsum("bhls,bhds->bhdl", weights, v).flatten(1, 2)).transpose(1, 2)


class ComponentsFirst(Joined):
    """The columns of all three projections count components before heads."""

    def forward(self, x):
        samples, length, d = x.shape
        q, k, v = (one(x).view(samples, length, -1, self.h).permute(0, 3, 1, 2) for one in (self.q, self.k, self.v))
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o(y.permute(0, 2, 3, 1).reshape(samples, length, d))


class InPieces(Joined):
    """Each query attends by itself, to the keys that it sees."""

    def forward(self, x):
        q, k, v = (one(x).unflatten(-1, (self.h, -1)).transpose(1, 2) for one in (self.q, self.k, self.v))
        pieces = []
        for at in range(x.shape[1]):
            logits = q[:, :, at : at + 1] @ k[:, :, : at + 1].transpose(-1, -2) / math.sqrt(q.shape[-1])
            pieces.append(logits.softmax(-1) @ v[:, :, : at + 1])
        return self.o(torch.cat(pieces, 2).transpose(1, 2).flatten(2))


class WithoutSoftmax(Joined):
    """Linear attention, of which the specification knows nothing."""

    def forward(self, x):
        q, k, v = (one(x).unflatten(-1, (self.h, -1)).transpose(1, 2) for one in (self.q, self.k, self.v))
        q, k = nn.functional.elu(q) + 1, nn.functional.elu(k) + 1
        y = q @ (k.transpose(-1, -2) @ v) / (q @ k.sum(2).unsqueeze(-1))
        return self.o(y.transpose(1, 2).flatten(2))


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


class DeepNorm(GPT):
    """The residual is multiplied before the sublayer's output is added to it, and the norm follows."""

    def forward(self, ids):
        x = self.tokens(ids) + self.positions(torch.arange(ids.shape[1]))
        for at, (attention, network) in enumerate(zip(self.attentions, self.networks, strict=True)):
            x = self.norms[2 * at](1.5 * x + attention(x))
            x = self.norms[2 * at + 1](1.5 * x + network(x))
        return self.head(self.norms[-1](x))


def by_head():
    return GPT(ByHead)


def heads_first():
    return GPT(HeadsFirst)


def joined():
    return GPT(Joined)


def channels():
    return GPT(Channels)


def components_first():
    return GPT(ComponentsFirst)


def in_pieces():
    return GPT(InPieces)


def without_softmax():
    return GPT(WithoutSoftmax)


def deep_norm():
    return DeepNorm(ComponentsFirst, layers=3)
