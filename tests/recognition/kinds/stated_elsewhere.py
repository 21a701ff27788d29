"""Models that state what they are by a class's name, a tied table, a size of patches, or the shares of experts."""

from types import SimpleNamespace

import torch
from small import VOCABULARY, WIDTH, Block, Decoder, Gated, Stack
from stated import turned
from torch import nn


class SwiGLU(Gated):
    """A gated network with whatever activation it is built with."""

    def __init__(self, activation=nn.functional.silu):
        super().__init__()
        self.activation = activation

    def forward(self, x):
        return self.down(self.activation(self.gate(x)) * self.up(x))


def gated(activation=nn.functional.silu, **stated):
    model = Decoder(lambda: Block(lambda: SwiGLU(activation)))
    model.config = SimpleNamespace(**stated)
    return model


def tied(is_tied=True, **stated):
    model = Decoder()
    if is_tied:
        model.head.weight = model.embed.weight
    model.config = SimpleNamespace(**stated)
    return model


class OfTwoClasses(Decoder):
    """A head of two classes, beside a table of two token types: its logits are none of tokens, and nothing is tied."""

    def __init__(self):
        super().__init__()
        self.types, self.head = nn.Embedding(2, WIDTH), nn.Linear(WIDTH, 2)
        self.config = SimpleNamespace(tie_word_embeddings=True)

    def forward(self, tokens):
        return self.head(self.stack(self.embed(tokens) + self.types(tokens % 2))[:, 0])


class Patched(nn.Module):
    """Patches of an image, cut as they should be, or with rows of the image taken for rows of a patch."""

    def __init__(self, patch_size=4, exchanged=True, stated=None):
        super().__init__()
        self.size, self.exchanged, self.config = patch_size, exchanged, SimpleNamespace(patch_size=stated or patch_size)
        self.project, self.stack = nn.Linear(3 * patch_size**2, WIDTH), Stack(Block)
        self.head = nn.Linear(WIDTH, 10)

    def forward(self, pixel_values):
        batch, channels, height, width = pixel_values.shape
        x = pixel_values.permute(0, 2, 3, 1)
        if self.exchanged:
            x = x.unflatten(1, (-1, self.size)).unflatten(3, (-1, self.size)).transpose(2, 3)
        x = x.reshape(batch, height * width // self.size**2, channels * self.size**2)
        return self.head(self.stack(self.project(x)).mean(1))


class Experts(nn.Module):
    """Two of four experts for each token, with shares of the sum one or without."""

    def __init__(self, is_one):
        super().__init__()
        self.is_one, self.router = is_one, nn.Linear(WIDTH, 4, bias=False)
        self.experts = nn.ModuleList(Gated() for _ in range(4))

    def forward(self, x):
        shares = self.router(x).softmax(-1)
        best, which = shares.topk(2, -1)
        best = best / best.sum(-1, keepdim=True) if self.is_one else best
        kept = torch.zeros_like(shares).scatter(-1, which, best)
        return sum(kept[..., place, None] * expert(x) for place, expert in enumerate(self.experts))


def routed(is_one, **stated):
    model = Decoder(lambda: Block(lambda: Experts(is_one)))
    model.config = SimpleNamespace(**stated)
    return model


class TurnedFirst(nn.Module):
    """Attention whose queries and keys are normalised before they are turned, or after."""

    def __init__(self, is_late):
        super().__init__()
        self.is_late, self.turn, self.qkv, self.out = (
            is_late,
            turned(100.0),
            nn.Linear(WIDTH, 3 * WIDTH),
            nn.Linear(WIDTH, WIDTH),
        )
        self.q_norm, self.k_norm = nn.RMSNorm(WIDTH // 4, eps=1e-6), nn.RMSNorm(WIDTH // 4, eps=1e-6)

    def forward(self, x):
        q, k, v = self.qkv(x).unflatten(-1, (3, 4, -1)).permute(2, 0, 3, 1, 4)
        if self.is_late:
            q, k = self.q_norm(self.turn(q)), self.k_norm(self.turn(k))
        else:
            q, k = self.turn(self.q_norm(q)), self.turn(self.k_norm(k))
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).flatten(2))


def turned_first(is_late):
    return Decoder(lambda: Block(attention=lambda: TurnedFirst(is_late)))


class TimeFirst(nn.Module):
    """Attention of queries, keys and values (T, B, E) to each other, as fairseq has it."""

    def __init__(self, mixed=False):
        super().__init__()
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.mixed = mixed

    def forward(self, query, key, value):
        length, batch, _ = query.shape
        q, k, v = (
            map_(one).reshape(len(one), batch * 4, -1).transpose(0, 1)
            for map_, one in ((self.q_proj, query), (self.k_proj, key), (self.v_proj, value))
        )
        v = v.roll(4, 0) if self.mixed else v
        y = nn.functional.scaled_dot_product_attention(q, k, v)
        return self.out_proj(y.transpose(0, 1).reshape(length, batch, -1))


TOKENS = torch.arange(22).reshape(2, 11) % VOCABULARY
