"""Gated networks whose branches are one map, or are multiplied as they are."""

from small import WIDTH, Block, Decoder, Gated
from torch import nn


class Twice(Gated):
    def forward(self, x):
        return self.down(self.gate(x) * nn.functional.silu(self.gate(x)))


class Bilinear(Gated):
    def forward(self, x):
        return self.down(self.gate(x) * self.up(x))


class Fused(nn.Module):
    """A right one: the halves of one map are the branches."""

    def __init__(self, hidden=96):
        super().__init__()
        self.both, self.down = nn.Linear(WIDTH, 2 * hidden), nn.Linear(hidden, WIDTH)

    def forward(self, x):
        gate, up = self.both(x).chunk(2, -1)
        return self.down(nn.functional.silu(gate) * up)


def of(network):
    return Decoder(lambda: Block(network=network))
