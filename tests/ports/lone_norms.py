"""Norms in other words, right and wrong, that stand where no sublayer is: behind a network, before a map, alone."""

from __future__ import annotations

import torch
from torch import nn

WIDTH, EPS = 24, 1e-5


class Right(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gain = nn.Parameter(1 + 0.3 * torch.randn(WIDTH))
        self.shift = nn.Parameter(0.3 * torch.randn(WIDTH))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.scaled(self.centred(x) / self.size(x))

    def centred(self, x: torch.Tensor) -> torch.Tensor:
        return x - x.mean(-1, keepdim=True)

    def size(self, x: torch.Tensor) -> torch.Tensor:
        return (x.var(-1, correction=0, keepdim=True) + EPS).sqrt()

    def scaled(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.gain + self.shift


class Unbiased(Right):
    def size(self, x: torch.Tensor) -> torch.Tensor:
        return (x.var(-1, keepdim=True) + EPS).sqrt()


class EpsOutside(Right):
    def size(self, x: torch.Tensor) -> torch.Tensor:
        return x.var(-1, correction=0, keepdim=True).sqrt() + EPS


class WithoutGain(Right):
    def scaled(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.shift


class NotCentred(Right):
    def centred(self, x: torch.Tensor) -> torch.Tensor:
        return x

    def size(self, x: torch.Tensor) -> torch.Tensor:
        return (x.square().mean(-1, keepdim=True) + EPS).sqrt()


class Network(nn.Module):
    """Two maps, a norm behind them, and a last map if it is wanted."""

    def __init__(self, norm: type[Right], *, with_head: bool) -> None:
        super().__init__()
        self.first, self.second, self.last = nn.Linear(12, WIDTH), nn.Linear(WIDTH, WIDTH), norm()
        self.head = nn.Linear(WIDTH, 7) if with_head else nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.last(self.second(torch.tanh(self.first(x)))))


class Residual(nn.Module):
    """A residual network of pre-norm sublayers that returns its stream, normalised."""

    def __init__(self, norm: type[Right]) -> None:
        super().__init__()
        self.before, self.up, self.down = Right(), nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)
        self.last = norm()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(x + self.down(nn.functional.gelu(self.up(self.before(x)))))


PLACES = {
    "alone": lambda norm: norm(),
    "behind a network": lambda norm: Network(norm, with_head=False),
    "before a map": lambda norm: Network(norm, with_head=True),
    "behind the stream": lambda norm: Residual(norm),
}


def model(place: str, norm: type[Right]) -> nn.Module:
    """Return a model with a norm at a place; all with the same weights."""
    torch.manual_seed(0)
    return PLACES[place](norm).eval()


def given(place: str) -> torch.Tensor:
    """Return inputs, so small that an eps is seen."""
    width = 12 if "network" in place or "map" in place else WIDTH
    return 0.1 * torch.randn(2, 11, width, generator=torch.Generator().manual_seed(1))
