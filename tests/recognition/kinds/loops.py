"""Models of torch that go through their samples in a loop."""

from __future__ import annotations

import math

import torch
from torch import nn

WIDTH, HEADS, VOCABULARY, LONGEST = 24, 4, 60, 32


class Loop(nn.Module):
    """A decoder of torch whose attention takes its samples one by one."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.positions = nn.Embedding(LONGEST, WIDTH)
        self.norms = nn.ModuleList([nn.LayerNorm(WIDTH) for _ in range(3)])
        self.maps = nn.ModuleList([nn.Linear(WIDTH, 3 * WIDTH) for _ in range(3)])
        self.outs = nn.ModuleList([nn.Linear(WIDTH, WIDTH) for _ in range(3)])

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return the vectors of all samples."""
        return torch.stack([self._one(sample) for sample in tokens])

    def _one(self, tokens: torch.Tensor) -> torch.Tensor:
        rows = self.tokens(tokens) + self.positions(torch.arange(len(tokens)))
        hidden = torch.triu(torch.ones(len(tokens), len(tokens), dtype=torch.bool), 1)
        for norm, taken, out in zip(self.norms, self.maps, self.outs, strict=True):
            query, key, value = (
                part.view(len(tokens), HEADS, -1).transpose(0, 1) for part in taken(norm(rows)).chunk(3, -1)
            )
            scores = query @ key.transpose(-1, -2) / math.sqrt(WIDTH // HEADS)
            weights = scores.masked_fill(hidden, -math.inf).softmax(-1)
            rows = rows + out((weights @ value).transpose(0, 1).reshape(len(tokens), WIDTH))
        return rows
