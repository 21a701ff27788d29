"""Sentences about what stands out in a model and may be meant."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.functional import gelu, scaled_dot_product_attention
from veriformer import check

WIDTH, HEADS = 24, 4


class Block(nn.Module):
    """A block whose network may read the stream as it is."""

    def __init__(self, *, normed: bool, window: int = 0) -> None:
        super().__init__()
        self.window = window
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH) if normed else nn.Identity()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 40), nn.Linear(40, WIDTH)

    def forward(self, x: Any) -> Any:
        parts = self.qkv(self.first(x)).chunk(3, -1)
        q, k, v = (one.view(*x.shape[:2], HEADS, -1).transpose(1, 2) for one in parts)
        place = torch.arange(x.shape[1])
        distance = place[:, None] - place
        seen = distance.abs() <= self.window if self.window else distance >= 0
        x = x + self.out(scaled_dot_product_attention(q, k, v, attn_mask=seen).transpose(1, 2).flatten(2))
        return x + self.down(gelu(self.up(self.second(x))))


class Decoder(nn.Module):
    def __init__(self, *, normed: bool = True, shared: bool = False) -> None:
        super().__init__()
        self.table, self.head = nn.Embedding(30, WIDTH), nn.Linear(WIDTH, 30, bias=False)
        block = Block(normed=normed)
        self.blocks = nn.ModuleList([block if shared else Block(normed=normed) for _ in range(2)])
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, tokens: Any) -> Any:
        x = self.table(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class TwoTables(nn.Module):
    def __init__(self, factor: float) -> None:
        super().__init__()
        self.source, self.target = nn.Embedding(30, WIDTH), nn.Embedding(30, WIDTH)
        self.encoder = nn.TransformerEncoderLayer(WIDTH, HEADS, 40, batch_first=True)
        self.decoder = nn.TransformerDecoderLayer(WIDTH, HEADS, 40, batch_first=True)
        self.head, self.factor = nn.Linear(WIDTH, 30), factor

    def forward(self, source: Any, target: Any) -> Any:
        memory = self.encoder(self.source(source) * WIDTH**0.5)
        mask = nn.Transformer.generate_square_subsequent_mask(target.shape[1])
        return self.head(self.decoder(self.target(target) * self.factor, memory, tgt_mask=mask))


def both_ways() -> Decoder:
    """A decoder whose second layer looks ahead, as far as its window goes."""
    model = Decoder()
    model.blocks[1] = Block(normed=True, window=2)
    return model


def remarks(model: nn.Module) -> tuple[str, ...]:
    report: Any = check(model)
    assert not report.departures
    return tuple(report.recognition.remarks)


def test_nothing_stands_out_in_usual_models() -> None:
    torch.manual_seed(0)
    assert remarks(Decoder()) == ()
    assert remarks(TwoTables(WIDTH**0.5)) == ()


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (Decoder(normed=False), "its feed-forward networks have no norm, and its attentions have one each"),
        (Decoder(shared=True), "the layers blocks.0 and blocks.1 are one object"),
        (TwoTables(1.0), "the rows of source are multiplied by 4.899, and those of target are taken as they are"),
    ],
)
def test_what_stands_out_is_said(model: nn.Module, said: str) -> None:
    (remark,) = remarks(model)
    assert said in remark


def test_a_layer_that_looks_ahead_departs_and_is_named() -> None:
    report: Any = check(both_ways())
    (departure,) = report.departures
    assert [one.name for one in departure.suspects] == ["decoder_not_causal"]
    assert "later positions are seen in blocks.1, and not in blocks.0" in report.recognition.remarks
