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
