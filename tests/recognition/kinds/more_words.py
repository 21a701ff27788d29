"""Decoders whose parts say more than their names: experts in one stack, gates in one map, residuals, precision."""

import torch
from small import WIDTH, Attention, Block, Decoder, Stack, rms_norm
from torch import nn

EXPERTS, CHOSEN, HIDDEN = 4, 2, 24


class Stacked(nn.Module):
    """A mixture of experts whose matrices are one stack: each runs on every token, and those not chosen weigh 0."""

    def __init__(self, renormalised=True):
        super().__init__()
        self.renormalised = renormalised
        self.router = nn.Linear(WIDTH, EXPERTS, bias=False)
        self.gate_up = nn.Parameter(torch.randn(EXPERTS, WIDTH, 2 * HIDDEN) * WIDTH**-0.5)
        self.down = nn.Parameter(torch.randn(EXPERTS, HIDDEN, WIDTH) * HIDDEN**-0.5)

    def forward(self, x):
        flat = x.flatten(0, 1)
        scores = self.router(flat).softmax(-1)
        best, chosen = scores.topk(CHOSEN, dim=-1)
        best = best / best.sum(-1, keepdim=True) if self.renormalised else best
        weights = torch.zeros_like(scores).scatter(1, chosen, best)
        gate, up = torch.einsum("td,edf->tef", flat, self.gate_up).chunk(2, dim=-1)
        given = torch.einsum("tef,efd->ted", nn.functional.silu(gate) * up, self.down)
        return torch.einsum("te,ted->td", weights, given).reshape(x.shape)


class OneMap(nn.Module):
    def __init__(self, gate_first=True):
        super().__init__()
        self.gate_first = gate_first
        self.both, self.down = nn.Linear(WIDTH, 2 * HIDDEN), nn.Linear(HIDDEN, WIDTH)

    def forward(self, x):
        first, second = self.both(x).chunk(2, dim=-1)
        gate, up = (first, second) if self.gate_first else (second, first)
        return self.down(nn.functional.silu(gate) * up)


class OneArray(OneMap):
    """Gate and up lie along an axis of their own of one array, as in the files of Gemma."""

    def __init__(self, gate_first=True):
        super().__init__(gate_first)
        self.both = nn.Parameter(torch.randn(2, WIDTH, HIDDEN) * WIDTH**-0.5)

    def forward(self, x):
        first, second = torch.einsum("btd,cdf->cbtf", x, self.both)
        gate, up = (first, second) if self.gate_first else (second, first)
        return self.down(nn.functional.silu(gate) * up)


class Dropping(Block):
    """Wrong: the network's output is added to what came before the attention."""

    def forward(self, x):
        y = x + self.attention(self.norm1(x))
        return x + self.network(self.norm2(y))


class Coarse(Attention):
    def forward(self, x):
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        logits = (q @ k.transpose(-1, -2)) * q.shape[-1] ** -0.5
        logits = logits.masked_fill(torch.ones(x.shape[1], x.shape[1]).triu(1).bool(), float("-inf"))
        weights = logits.to(torch.bfloat16).softmax(-1).to(q.dtype)
        return self.out((weights @ v).transpose(1, 2).flatten(2))


class Segments(nn.Module):
    """A decoder that takes segments, and adds them or does not."""

    def __init__(self, used=True):
        super().__init__()
        self.used = used
        self.embed, self.segments, self.stack = nn.Embedding(40, WIDTH), nn.Embedding(2, WIDTH), Stack()
        self.head = nn.Linear(WIDTH, 40)

    def forward(self, tokens, segment_ids):
        rows = segment_ids if self.used else torch.zeros_like(segment_ids)
        return self.head(self.stack(self.embed(tokens) + self.segments(rows)))


class Boxes(Decoder):
    """Its head is a network of three maps."""

    def __init__(self):
        super().__init__()
        self.maps = nn.ModuleList((nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 4)))

    def forward(self, tokens):
        x = self.stack(self.embed(tokens))
        for one in self.maps[:-1]:
            x = one(x).relu()
        return self.maps[-1](x)


def decoder(network):
    return Decoder(lambda: Block(network))


def dropping():
    return Decoder(Dropping)


def coarse():
    return Decoder(lambda: Block(attention=Coarse, norm=rms_norm))
