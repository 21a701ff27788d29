"""What strangers write in other forms: products of three, biases that are taken off, two networks in a layer."""

import math

import torch
from small import HEADS, VOCABULARY, WIDTH, Attention, Block, Decoder, Gated
from torch import nn


class TakenOff(Attention):
    """ALiBi as a distance that is subtracted; wrong where it is added."""

    sign = -1

    def forward(self, x):
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        places = torch.arange(x.shape[1])
        distance = (places[:, None] - places).to(x.dtype)
        slopes = 2.0 ** (-8 * torch.arange(1, self.heads + 1) / self.heads).to(x.dtype)
        table = slopes[:, None, None] * distance
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        scores = scores - table if self.sign < 0 else scores + table
        weights = scores.masked_fill(distance < 0, -math.inf).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).flatten(2))


class Added(TakenOff):
    sign = 1


def alibi(wrong=False):
    return Decoder(lambda: Block(attention=Added if wrong else TakenOff))


class Macaron(nn.Module):
    """Two networks of one size in a layer, a norm behind the second one."""

    def __init__(self):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(4))
        self.first, self.attention, self.second = Gated(), Attention(causal=False), Gated()

    def forward(self, x):
        x = x + 0.5 * self.first(self.norms[0](x))
        # A mixer that nothing is known of.
        x = x + torch.cumsum(x, 1).sin()
        x = x + self.attention(self.norms[1](x))
        return self.norms[3](x + 0.5 * self.second(self.norms[2](x)))


class Macarons(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.head = nn.Embedding(VOCABULARY, WIDTH), nn.Linear(WIDTH, 7)
        self.blocks = nn.ModuleList(Macaron() for _ in range(2))

    def forward(self, tokens):
        x = self.tokens(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


class Anchored(Attention):
    """Sees a window and the first keys, with sinks that all layers have in one table."""

    window = 4

    def forward(self, x):
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        places = torch.arange(x.shape[1])
        distance = places[:, None] - places
        seen = (distance >= 0) & ((distance < self.window) | (places < 2))
        scores = (q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])).masked_fill(~seen, -math.inf)
        sinks = self.sinks[:, None, None].expand(*scores.shape[:3], 1)
        weights = torch.cat((scores, sinks), -1).softmax(-1)[..., :-1]
        return self.out((weights @ v).transpose(1, 2).flatten(2))


class OneTable(Decoder):
    def __init__(self):
        super().__init__(lambda: Block(attention=Anchored))
        self.sinks = nn.Parameter(torch.randn(2, HEADS))

    def forward(self, tokens):
        for number, block in enumerate(self.stack.blocks):
            block.attention.sinks = self.sinks[number]
        return super().forward(tokens)
