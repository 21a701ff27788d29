"""Positions that are multiplied with the query: a row for each pair (Shaw), or columns that are skewed (Music)."""

import torch
from small import HEADS, WIDTH, Attention, Block, Decoder
from torch import nn

LONGEST, REACH = 16, 4
SIZE = WIDTH // HEADS


class Relative(Attention):
    def __init__(self, skewed, scaled=True):
        super().__init__()
        self.skewed, self.scaled = skewed, scaled
        self.rows = nn.Parameter(torch.randn(HEADS, LONGEST, SIZE) if skewed else torch.randn(2 * REACH + 1, SIZE))

    def by_skewing(self, q):
        length = q.shape[2]
        given = torch.einsum("bhid,hrd->bhir", q, self.rows[:, -length:])
        if self.skewed == "not":
            return given
        padded = nn.functional.pad(given, (1, 0)).reshape(*q.shape[:2], length + 1, length)
        return padded[:, :, 1:]

    def by_pairs(self, q):
        place = torch.arange(q.shape[2])
        table = self.rows[(place[None] - place[:, None]).clamp(-REACH, REACH) + REACH]
        return torch.einsum("bhid,ijd->bhij", q, table)

    def forward(self, x):
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        added = self.by_skewing(q) if self.skewed else self.by_pairs(q)
        logits = q @ k.transpose(-1, -2)
        logits = (logits + added) * SIZE**-0.5 if self.scaled else logits * SIZE**-0.5 + added
        logits = logits.masked_fill(torch.ones(x.shape[1], x.shape[1]).triu(1).bool(), float("-inf"))
        return self.out((logits.softmax(-1) @ v).transpose(1, 2).flatten(2))


def decoder(skewed, scaled=True):
    return Decoder(lambda: Block(attention=lambda: Relative(skewed, scaled)))
