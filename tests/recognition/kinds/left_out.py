"""Models of which this pass leaves a part out: a tower without an image, an attention without a memory."""

from types import SimpleNamespace

import torch
from decoded import DecoderBlock, EncoderBlock
from small import HEADS, VOCABULARY, WIDTH, Attention, Block, Decoder
from torch import nn


class Tower(nn.Module):
    def __init__(self):
        super().__init__()
        self.position_embedding, self.block = nn.Embedding(9, WIDTH), EncoderBlock()

    def forward(self, patches):
        return self.block(patches + self.position_embedding.weight)


class SeesImages(Decoder):
    """No image is handed over, so that none of the tower runs."""

    def __init__(self):
        super().__init__()
        self.tower = Tower()

    def forward(self, tokens, patches=None):
        return super().forward(tokens) if patches is None else super().forward(tokens) + self.tower(patches).sum()


class WithoutMemory(nn.Module):
    """Blocks of a decoder that leave out the attention to a memory where there is none."""

    class Block(DecoderBlock):
        def forward(self, x, memory=None):
            x = self.norm1(x + self.attention(x))
            x = x if memory is None else self.norm2(x + self.across(x, memory))
            return self.norm3(x + self.network(x))

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = nn.ModuleList(self.Block(causal=True) for _ in range(2))
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


class NormLeftOut(WithoutMemory):
    """A wrong one: of the second block a norm is not called, and all else is."""

    class Block(nn.Module):
        def __init__(self, causal):
            super().__init__()
            self.attention, self.network = (
                Attention(causal=causal),
                nn.Sequential(nn.Linear(WIDTH, 96), nn.GELU(), nn.Linear(96, WIDTH)),
            )
            self.norm1, self.norm2, self.skips = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH), False

        def forward(self, x):
            x = self.norm1(x + self.attention(x))
            x = x + self.network(x)
            return x if self.skips else self.norm2(x)

    def __init__(self):
        super().__init__()
        self.blocks[1].skips = True


class Unscaled(Attention):
    def forward(self, x):
        q, k, v = self.qkv(x).unflatten(-1, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, scale=1.0)
        return self.out(y.transpose(1, 2).flatten(2))


def unscaled(**stated):
    model = Decoder(lambda: Block(attention=Unscaled))
    model.config = SimpleNamespace(**stated)
    return model


class LowRank(nn.Module):
    def __init__(self, rank=6):
        super().__init__()
        self.down, self.up = nn.Linear(WIDTH, rank, bias=False), nn.Linear(rank, WIDTH, bias=False)

    def forward(self, x):
        return self.up(self.down(x))


def low_rank():
    return Decoder(lambda: Block(network=LowRank))


class SegmentsInEachLayer(Decoder):
    """Each attention has a vector and a table for segments, as in XLNet, and no segments are handed over."""

    def __init__(self):
        super().__init__()
        for block in self.stack.blocks:
            block.attention.of_segments = nn.Parameter(torch.randn(HEADS, WIDTH // HEADS))
            block.attention.segment_table = nn.Parameter(torch.randn(2, WIDTH))

    def forward(self, tokens, token_type_ids=None):
        x = super().forward(tokens)
        if token_type_ids is not None:
            for block in self.stack.blocks:
                x = x + (block.attention.segment_table[token_type_ids].sum() + block.attention.of_segments.sum())
        return x
