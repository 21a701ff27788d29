"""Models whose masks are the caller's: handed over, or left out since nobody hands them over."""

import torch
from small import HEADS, VOCABULARY, WIDTH
from torch import nn


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))

    def forward(self, x, y, mask=None):
        q, k, v = (f(z).unflatten(-1, (HEADS, -1)).transpose(1, 2) for f, z in ((self.q, x), (self.k, y), (self.v, y)))
        scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
        if mask is not None:
            scores = scores + mask if mask.is_floating_point() else scores.masked_fill(~mask.bool(), -1e9)
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))


class Layer(nn.Module):
    def __init__(self, across=False):
        super().__init__()
        self.own, self.cross = Attention(), Attention() if across else None
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.norm3 = nn.LayerNorm(WIDTH) if across else None
        self.up, self.down = nn.Linear(WIDTH, 96), nn.Linear(96, WIDTH)

    def forward(self, x, mask=None, memory=None, memory_mask=None):
        h = self.norm1(x)
        x = x + self.own(h, h, mask)
        if self.cross is not None:
            x = x + self.cross(self.norm3(x), memory, memory_mask)
        return x + self.down(torch.relu(self.up(self.norm2(x))))


class Both(nn.Module):
    """An encoder and a decoder, with a head that forward does not call."""

    def __init__(self):
        super().__init__()
        self.source, self.target = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(VOCABULARY, WIDTH)
        self.encoder = nn.ModuleList(Layer() for _ in range(2))
        self.decoder = nn.ModuleList(Layer(across=True) for _ in range(2))
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.generator = nn.Linear(WIDTH, VOCABULARY)

    def run(self, source, target, source_mask, target_mask):
        x, y = self.source(source), self.target(target)
        for layer in self.encoder:
            x = layer(x, source_mask)
        x = self.norm1(x)
        for layer in self.decoder:
            y = layer(y, target_mask, x, source_mask)
        return self.norm2(y)


class Required(Both):
    def forward(self, source, target, source_mask, target_mask):
        return self.run(source, target, source_mask, target_mask)


class Optional(Both):
    def forward(self, source, target, source_mask=None, target_mask=None):
        return self.run(source, target, source_mask, target_mask)


class Keyword(Both):
    def forward(self, source, target, *, tgt_mask, src_mask=None):
        return self.run(source, target, src_mask, tgt_mask)


class NotHandedOn(Both):
    """Wrong: the mask is there, and the decoder does not get it."""

    def forward(self, source, target, source_mask, target_mask):
        return self.run(source, target, source_mask, None)


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.layers = nn.Embedding(VOCABULARY, WIDTH), nn.ModuleList(Layer() for _ in range(2))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens, attention_mask):
        x = self.embed(tokens)
        mask = attention_mask.unsqueeze(1) if attention_mask.ndim == 3 else attention_mask
        for layer in self.layers:
            x = layer(x, mask)
        return self.head(self.norm(x))
