"""Decoders of learned queries and of tokens, a Transformer of tables, and layers with a network on either side."""

import torch
from small import HEADS, VOCABULARY, WIDTH, Attention
from torch import nn


class Across(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.kv, self.out = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x, memory):
        q = self.q(x).unflatten(-1, (HEADS, -1)).transpose(1, 2)
        k, v = self.kv(memory).unflatten(-1, (2, HEADS, -1)).permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(q, k, v)
        return self.out(y.transpose(1, 2).flatten(2))


def network():
    return nn.Sequential(nn.Linear(WIDTH, 96), nn.ReLU(), nn.Linear(96, WIDTH))


class DecoderBlock(nn.Module):
    def __init__(self, causal):
        super().__init__()
        self.attention, self.across, self.network = Attention(causal=causal), Across(), network()
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(WIDTH) for _ in range(3))

    def forward(self, x, memory):
        x = self.norm1(x + self.attention(x))
        x = self.norm2(x + self.across(x, memory))
        return self.norm3(x + self.network(x))


class EncoderBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention, self.network = Attention(causal=False), network()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)

    def forward(self, x):
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.network(x))


class LearnedQueries(nn.Module):
    """Queries that are parameters look at each other and at an image's patches, as those of DETR."""

    def __init__(self, queries=5):
        super().__init__()
        self.embed, self.positions = nn.Linear(12, WIDTH), nn.Parameter(torch.randn(9, WIDTH))
        self.encoder = nn.ModuleList(EncoderBlock() for _ in range(2))
        self.queries = nn.Parameter(torch.randn(queries, WIDTH))
        self.decoder = nn.ModuleList(DecoderBlock(causal=False) for _ in range(2))
        self.head = nn.Linear(WIDTH, 3)

    def forward(self, patches):
        memory = self.embed(patches) + self.positions[: patches.shape[1]]
        for block in self.encoder:
            memory = block(memory)
        x = self.queries.expand(len(patches), -1, -1)
        for block in self.decoder:
            x = block(x, memory)
        return self.head(x)


class Translator(nn.Module):
    def __init__(self, causal=True):
        super().__init__()
        self.source, self.target = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(VOCABULARY, WIDTH)
        self.encoder = nn.ModuleList(EncoderBlock() for _ in range(2))
        self.decoder = nn.ModuleList(DecoderBlock(causal) for _ in range(2))
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, source, target):
        memory, x = self.source(source), self.target(target)
        for block in self.encoder:
            memory = block(memory)
        for block in self.decoder:
            x = block(x, memory)
        return self.head(x)


class Tabular(nn.Module):
    """A token for each column of a table; the first attention has no norm before it, as in FT-Transformer."""

    def __init__(self, columns=7, layers=3):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.randn(columns, WIDTH)), nn.Parameter(torch.randn(columns, WIDTH))
        self.attentions = nn.ModuleList(Attention(causal=False) for _ in range(layers))
        self.networks = nn.ModuleList(network() for _ in range(layers))
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(2 * layers - 1))
        self.last, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 1)

    def forward(self, rows):
        x = rows[:, :, None] * self.weight + self.bias
        norms = iter(self.norms)
        for number, (attention, one) in enumerate(zip(self.attentions, self.networks, strict=True)):
            x = x + attention(next(norms)(x) if number else x)
            x = x + one(next(norms)(x))
        return self.head(self.last(x[:, 0]))


class MacaronBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.attention, self.second = network(), Attention(causal=False), network()
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(4))

    def forward(self, x):
        x = x + 0.5 * self.first(self.norms[0](x))
        x = x + self.attention(self.norms[1](x))
        return self.norms[3](x + 0.5 * self.second(self.norms[2](x)))


class Macaron(nn.Module):
    """Half a network on either side of each attention, and a norm at the end of each layer, as in Conformers."""

    def __init__(self, layers=2):
        super().__init__()
        self.blocks, self.head = nn.ModuleList(MacaronBlock() for _ in range(layers)), nn.Linear(WIDTH, 10)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x)
