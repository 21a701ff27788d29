"""Models of which vectors go to other positions, or come back to their own."""

import torch
from small import Block, Decoder, Gated, rms_norm
from torch import nn


class LateBlock(Block):
    """The network's output is added one position late."""

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.network(self.norm2(x)).roll(1, dims=1)


class RolledThere(Block):
    """The network reads rolled positions, as a shifted window does, and its output is rolled back."""

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.network(self.norm2(x).roll(2, dims=1)).roll(-2, dims=1)


class PositionsFirst(Block):
    """The network reads and gives positions before samples."""

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.network(self.norm2(x).transpose(0, 1)).transpose(0, 1)


class LateGate(Gated):
    def forward(self, x):
        return self.down(nn.functional.silu(self.gate(x)).roll(1, dims=1) * self.up(x))


class LateStream(Block):
    """The stream itself goes on one position late."""

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x.roll(1, dims=1) + self.network(self.norm2(x))


class LateResults(Decoder):
    def forward(self, tokens):
        return super().forward(tokens).roll(1, dims=1)


class WithoutTheLast(Decoder):
    def forward(self, tokens):
        results = super().forward(tokens)
        return torch.cat((results[:, :-1], torch.zeros_like(results[:, -1:])), dim=1)


class TimeMajorResults(Decoder):
    def forward(self, tokens):
        return super().forward(tokens).transpose(0, 1)


class ZeroedToken(Decoder):
    """The vector of the last token is put to zero, and normalised as the others are."""

    def forward(self, tokens):
        rows = self.embed(tokens)
        rows = torch.cat((rows[:, :-1], torch.zeros_like(rows[:, -1:])), dim=1) + 0.1
        return self.head(self.stack(rows))


def one_of_three(block):
    made = iter((Block, block, Block))
    return Decoder(lambda: next(made)(), layers=3)


def all_of_three(block):
    return Decoder(block, layers=3)


def one_late_gate():
    made = iter((Gated, LateGate, Gated))
    return Decoder(lambda: Block(network=lambda: next(made)()), layers=3)


def layer_norms(model=ZeroedToken):
    return model(lambda: Block(norm=lambda: nn.LayerNorm(48)), norm=rms_norm)


class LateValues(nn.Module):
    """Two heads of values for four of queries, repeated, and one position late."""

    def __init__(self, late=True):
        super().__init__()
        self.late = late
        self.query, self.key, self.value = nn.Linear(48, 48), nn.Linear(48, 24), nn.Linear(48, 24)
        self.out = nn.Linear(48, 48)

    def forward(self, x):
        q, k, v = (one(x).unflatten(-1, (-1, 12)).transpose(1, 2) for one in (self.query, self.key, self.value))
        k, v = k.repeat_interleave(2, dim=1), v.repeat_interleave(2, dim=1)
        v = v.roll(1, dims=2) if self.late else v
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).flatten(2))


def one_with_late_values():
    late = iter((False, True, False))
    return Decoder(lambda: Block(attention=lambda: LateValues(next(late))), layers=3)
