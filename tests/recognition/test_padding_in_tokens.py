"""Padding that a model reads from its tokens: the tokens that are drawn have some, where the model says which it is."""

from __future__ import annotations

import torch
from torch import nn
from veriformer.adapters.capture.captured import recorded_pass
from veriformer.adapters.capture.models import find_model
from veriformer.conformance_tests.recognition.recognise import recognise

WIDTH, ROWS, PAD = 16, 300, 0


class Heads(nn.Module):
    """Attention of two heads, of a sequence or over a memory, some of whose keys are hidden."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))

    def forward(self, x, memory, hidden):
        q, k, v = (
            of(one).unflatten(-1, (2, -1)).transpose(1, 2)
            for of, one in ((self.query, x), (self.key, memory), (self.value, memory))
        )
        logits = (q @ k.mT / 8**0.5).masked_fill(hidden, float("-inf"))
        return self.out((logits.softmax(-1) @ v).transpose(1, 2).flatten(2))


class Translation(nn.Module):
    """An encoder and a decoder of one layer each, without feed-forward parts."""

    def __init__(self, across: bool = True) -> None:
        super().__init__()
        self.across = across
        self.source, self.target = nn.Embedding(ROWS, WIDTH, padding_idx=PAD), nn.Embedding(ROWS, WIDTH, PAD)
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(5))
        self.encoder, self.decoder, self.cross = Heads(), Heads(), Heads()
        self.head = nn.Linear(WIDTH, ROWS)

    def forward(self, src, tgt):
        hidden = (src == PAD)[:, None, None]
        memory = self.source(src)
        x = self.norms[0](memory)
        memory = self.norms[1](memory + self.encoder(x, x, hidden))
        out = self.target(tgt)
        x = self.norms[2](out)
        out = out + self.decoder(x, x, torch.ones(tgt.shape[1], tgt.shape[1], dtype=torch.bool).triu(1))
        out = out + self.cross(self.norms[3](out), memory, hidden if self.across else torch.zeros_like(hidden))
        return self.head(self.norms[4](out))


def found(model):
    torch.manual_seed(0)
    return recognise(recorded_pass(find_model(model, "model"), seed=0).trace)


def test_a_cross_attention_that_sees_padding_departs():
    assert found(Translation()).departures == ()
    departures = found(Translation(across=False)).departures
    assert [(one.path, one.suspects[0].name) for one in departures] == [("cross", "padding_mask_ignored")]
