"""Models of which one layer does something otherwise than the others, by design or not: nobody can know."""

from itertools import count

import torch
from small import WIDTH, Attention, Block, Decoder
from torch import nn


class Plain(nn.Module):
    def __init__(self, activation, hidden=96):
        super().__init__()
        self.up, self.activation, self.down = nn.Linear(WIDTH, hidden), activation, nn.Linear(hidden, WIDTH)

    def forward(self, x):
        return self.down(self.activation(self.up(x)))


def _one_other(usual, other, at=1):
    """Return a function that makes the usual thing, but once another one."""
    turn = count()
    return lambda: (other if next(turn) == at else usual)()


def one_activation(layers=3):
    make = _one_other(lambda: Plain(nn.GELU()), lambda: Plain(nn.SiLU()))
    return Decoder(lambda: Block(network=make), layers=layers)


def one_eps():
    make = _one_other(lambda: nn.LayerNorm(WIDTH, eps=1e-5), lambda: nn.LayerNorm(WIDTH, eps=1e-3), at=2)
    return Decoder(lambda: Block(norm=make))


def one_cap(layers=2):
    make = _one_other(Attention, Capped)
    return Decoder(lambda: Block(attention=make), layers=layers)


class Capped(Attention):
    def forward(self, x):
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        logits = 5.0 * torch.tanh(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5 / 5.0)
        hidden = torch.ones(logits.shape[-2:], dtype=torch.bool).triu(1)
        y = logits.masked_fill(hidden, float("-inf")).softmax(-1) @ v
        return self.out(y.transpose(1, 2).flatten(2))


def one_without_residual():
    make = _one_other(Block, WithoutResidual)
    return Decoder(make, layers=3)


class WithoutResidual(Block):
    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return self.network(self.norm2(x))


class WithANormBehind(Block):
    def __init__(self):
        super().__init__()
        self.behind = nn.LayerNorm(WIDTH)

    def forward(self, x):
        return self.behind(super().forward(x))


def in_turns():
    kinds = iter([Block, WithANormBehind] * 2)
    return Decoder(lambda: next(kinds)(), layers=4)
