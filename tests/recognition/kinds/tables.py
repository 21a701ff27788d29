"""Tables of which a row is kept free of gradients."""

import torch
from small import VOCABULARY, WIDTH, Decoder
from torch import nn


class Segments(Decoder):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH, padding_idx=0)
        self.segment = nn.Embedding(3, WIDTH, padding_idx=0)

    def forward(self, tokens, segments):
        return self.head(self.stack(self.embed(tokens) + self.segment(segments)))


class LastRow(Decoder):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(11, WIDTH, padding_idx=10)
        self.head = nn.Linear(WIDTH, 11)


class ByFunction(Decoder):
    def __init__(self):
        super().__init__()
        self.kinds = nn.Parameter(torch.zeros(2, WIDTH))

    def forward(self, tokens, segments):
        own = nn.functional.embedding(segments, self.kinds, padding_idx=0)
        return self.head(self.stack(self.embed(tokens) + own))


class Detached(Segments):
    """Wrong: no gradient reaches the segments' table at all."""

    def forward(self, tokens, segments):
        return self.head(self.stack(self.embed(tokens) + self.segment(1 - segments).detach()))
