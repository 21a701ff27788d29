"""The parts that the models of this folder have in common: a small causal decoder."""

import torch
from torch import nn

WIDTH, HEADS, VOCABULARY = 48, 4, 96


class Attention(nn.Module):
    def __init__(self, turn=None, causal=True, heads=HEADS):
        super().__init__()
        self.heads, self.causal, self.turn = heads, causal, turn
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        if self.turn is not None:
            q, k = self.turn(q), self.turn(k)
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.out(y.transpose(1, 2).flatten(2))


class Gated(nn.Module):
    def __init__(self, hidden=96):
        super().__init__()
        self.gate, self.up, self.down = nn.Linear(WIDTH, hidden), nn.Linear(WIDTH, hidden), nn.Linear(hidden, WIDTH)

    def forward(self, x):
        return self.down(nn.functional.silu(self.gate(x)) * self.up(x))


def rms_norm():
    return nn.RMSNorm(WIDTH, eps=1e-6)


class Block(nn.Module):
    def __init__(self, network=Gated, attention=Attention, norm=rms_norm):
        super().__init__()
        self.norm1, self.norm2, self.attention, self.network = norm(), norm(), attention(), network()

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.network(self.norm2(x))


class Stack(nn.Module):
    """Blocks and a final norm, on hidden states."""

    def __init__(self, block=Block, layers=2, norm=rms_norm):
        super().__init__()
        self.blocks, self.norm = nn.ModuleList(block() for _ in range(layers)), norm()

    def forward(self, hidden_states):
        for block in self.blocks:
            hidden_states = block(hidden_states)
        return self.norm(hidden_states)


class Decoder(nn.Module):
    """A stack between an embedding and an unembedding."""

    def __init__(self, block=Block, layers=2, norm=rms_norm):
        super().__init__()
        self.embed, self.stack = nn.Embedding(VOCABULARY, WIDTH), Stack(block, layers, norm)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens):
        return self.head(self.stack(self.embed(tokens)))


def triangle(length):
    return torch.ones(length, length, dtype=torch.bool).tril()
