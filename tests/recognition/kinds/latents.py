"""Latent attention in its absorbed form, which the recognition does not read."""

import torch
from small import WIDTH, Block, Decoder
from torch import nn


class Absorbed(nn.Module):
    """The keys are never made: the queries are taken to the latents. `kept` writes the latents into a buffer first."""

    def __init__(self, heads=4, part=8, latent=16, turned=0, kept=False):
        super().__init__()
        self.heads, self.part, self.latent, self.turned, self.kept = heads, part, latent, turned, kept
        self.q, self.a = nn.Linear(WIDTH, heads * (part + turned)), nn.Linear(WIDTH, latent + turned)
        self.norm, self.b = nn.RMSNorm(latent, eps=1e-6), nn.Linear(latent, heads * 2 * part, bias=False)
        self.out = nn.Linear(heads * part, WIDTH)
        self.register_buffer("store", torch.zeros(8, 64, latent), persistent=False)

    def turn(self, x):
        frequency = 100.0 ** (-torch.arange(0, self.turned, 2) / self.turned)
        angle = torch.outer(torch.arange(x.shape[1]), frequency).to(x.dtype)
        cos, sin = (t.view(1, x.shape[1], *[1] * (x.ndim - 3), -1) for t in (angle.cos(), angle.sin()))
        even, odd = x[..., ::2], x[..., 1::2]
        return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2)

    def forward(self, x):
        n = x.shape[1]
        plain, turned = self.q(x).unflatten(-1, (self.heads, -1)).split([self.part, self.turned], -1)
        c, k = self.a(x).split([self.latent, self.turned], -1)
        c = self.norm(c)
        if self.kept:
            self.store[: len(x), :n] = c
            c = self.store[: len(x), :n]
        up = self.b.weight.view(self.heads, -1, self.latent)
        scores = torch.einsum("bshc,btc->bsht", torch.einsum("bshd,hdc->bshc", plain, up[:, : self.part]), c)
        if self.turned:
            scores = scores + torch.einsum("bshr,btr->bsht", self.turn(turned), self.turn(k))
        hidden = torch.full((n, n), -torch.inf).triu(1).unsqueeze(1)
        weights = (scores * (self.part + self.turned) ** -0.5 + hidden).softmax(-1)
        y = torch.einsum("bshc,hdc->bshd", torch.einsum("bsht,btc->bshc", weights, c), up[:, self.part :])
        return self.out(y.flatten(2))


def plain():
    return Decoder(lambda: Block(attention=Absorbed))


def with_turned_keys():
    return Decoder(lambda: Block(attention=lambda: Absorbed(turned=8)))


def from_a_buffer():
    return Decoder(lambda: Block(attention=lambda: Absorbed(turned=4, kept=True)), layers=3)
