"""Masks of decoders and of padding, and buckets of distances, that belong where they are or do not."""

import torch
from masks import Both
from small import HEADS, VOCABULARY, WIDTH, Attention, Block, Decoder, Stack, triangle
from torch import nn

BUCKETS, FARTHEST = 8, 12
SOURCE = torch.tensor([[5, 9, 3, 7, 11, 4, 2, 1, 8], [6, 8, 1, 12, 0, 0, 0, 0, 0]])
TARGET = torch.tensor([[5, 9, 3, 7, 4, 2, 8], [6, 8, 1, 12, 3, 0, 0]])


def shown(tokens):
    return (tokens != 0)[:, None, None]


def both(tokens):
    return shown(tokens) & triangle(tokens.shape[1])


def either(tokens):
    """Wrong: a later key is shown unless it is padding."""
    return shown(tokens) | triangle(tokens.shape[1])


class Translator(Both):
    """An encoder and a decoder that make their masks of the tokens."""

    def __init__(self, mask):
        super().__init__()
        self.mask = mask
        del self.generator

    def forward(self, source, target):
        return self.run(source, target, shown(source), self.mask(target))


class Masked(Attention):
    """Attention that is handed its mask before, with `fill` for the logits of what is hidden."""

    seen = None

    def __init__(self, fill=-1e9):
        super().__init__()
        self.fill = fill

    def forward(self, x):
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        logits = (q @ k.transpose(-1, -2)) * q.shape[-1] ** -0.5
        logits = logits.masked_fill(~self.seen, self.fill)
        return self.out((logits.softmax(-1) @ v).transpose(1, 2).flatten(2))


class Alone(Decoder):
    """One stack between tokens and logits, whose mask is made of the tokens."""

    def __init__(self, mask, fill=-1e9):
        super().__init__(lambda: Block(attention=lambda: Masked(fill)))
        self.mask = mask

    def forward(self, tokens):
        for block in self.stack.blocks:
            block.attention.seen = self.mask(tokens)
        return super().forward(tokens)


def bucket(distance, bidirectional):
    """T5's number of the bucket of a key that is so far behind a query, negative where it is before."""
    count = BUCKETS // 2 if bidirectional else BUCKETS
    first = count * (distance > 0) if bidirectional else 0
    distance = distance.abs() if bidirectional else -distance.clamp(max=0)
    exact = count // 2
    far = torch.log(distance.clamp(min=1) / exact) / torch.log(torch.tensor(FARTHEST / exact)) * (count - exact)
    return first + torch.where(distance < exact, distance, (exact + far.long()).clamp(max=count - 1))


class Bucketed(Attention):
    def __init__(self, bidirectional, causal):
        super().__init__(causal=causal)
        self.bidirectional, self.rows = bidirectional, nn.Embedding(BUCKETS, HEADS)

    def forward(self, x):
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        place = torch.arange(x.shape[1])
        bias = self.rows(bucket(place - place[:, None], self.bidirectional)).permute(2, 0, 1)
        logits = (q @ k.transpose(-1, -2)) * q.shape[-1] ** -0.5 + bias
        if self.causal:
            logits = logits.masked_fill(~triangle(x.shape[1]), -torch.inf)
        return self.out((logits.softmax(-1) @ v).transpose(1, 2).flatten(2))


class OfBuckets(nn.Module):
    def __init__(self, bidirectional, causal):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.stack = Stack(lambda: Block(attention=lambda: Bucketed(bidirectional, causal)))
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens):
        return self.head(self.stack(self.embed(tokens)))
