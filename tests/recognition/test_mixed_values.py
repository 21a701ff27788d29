"""Values that are mixed with those of the first layer or with embeddings, and streams with earlier ones."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.functional import relu, rms_norm, scaled_dot_product_attention
from veriformer import check

WIDTH, HEADS = 24, 4
TOKENS = torch.randint(2, 30, (3, 11), generator=torch.Generator().manual_seed(0))


class Block(nn.Module):
    """A block whose attention takes other values beside its own, and gives back its own as they are projected."""

    def __init__(self, share: float, *, learned: bool) -> None:
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4))
        self.up, self.down = nn.Linear(WIDTH, 40, bias=False), nn.Linear(40, WIDTH, bias=False)
        self.share = nn.Parameter(torch.tensor(share)) if learned else share

    def forward(self, x: Any, others: Any) -> Any:
        normed = rms_norm(x, (WIDTH,))
        q, k, v = (one(normed).view(*x.shape[:2], HEADS, -1) for one in (self.query, self.key, self.value))
        mixed = v if others is None else (1 - self.share) * v + self.share * others.view_as(v)
        q, k, mixed = (one.transpose(1, 2) for one in (q, k, mixed))
        x = x + self.out(scaled_dot_product_attention(q, k, mixed, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.down(relu(self.up(rms_norm(x, (WIDTH,)))).square()), v


class Decoder(nn.Module):
    """A decoder whose later layers mix values: with those of the first layer, of the one before, or with a table."""

    def __init__(self, kind: str, mixed: tuple[int, ...] = (1, 2), again: float = 0.0, learned: bool = False) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.kind, self.mixed, self.again = kind, mixed, again
        self.table, self.head = nn.Embedding(30, WIDTH), nn.Linear(WIDTH, 30, bias=False)
        self.of_values = nn.Embedding(30, WIDTH) if kind == "table" else None
        self.blocks = nn.ModuleList([Block(share, learned=learned) for share in (0.5, 0.375, 0.25)])

    def forward(self, tokens: Any) -> Any:
        x = start = rms_norm(self.table(tokens), (WIDTH,))
        values: list[Any] = []
        for number, block in enumerate(self.blocks):
            others = None
            if number in self.mixed:
                others = self.of_values(tokens) if self.of_values else values[0 if self.kind == "first" else -1]
            x, own = block(x * (1 - self.again) + start * self.again if number and self.again else x, others)
            values.append(own)
        return self.head(rms_norm(x, (WIDTH,)))


def summaries(report: Any) -> list[str]:
    return [part.summary for part in report.parts if "attention" in part.role]


@pytest.mark.parametrize(
    ("kind", "sources"),
    (
        ("first", ("blocks.0.value", "blocks.0.value")),
        ("before", ("blocks.0.value", "blocks.1.value")),
        ("table", ("of_values", "of_values")),
    ),
)
def test_what_values_are_mixed_with_is_told(kind: str, sources: tuple[str, str]) -> None:
    report = check(Decoder(kind), inputs=(TOKENS,))
    assert report.verdict == "conforms" and all(part.status == "holds" for part in report.parts)
    first, *others = summaries(report)
    assert "values:" not in first
    for summary, source, share in zip(others, sources, ("0.375", "0.25"), strict=True):
        assert f"of its own + {share} of those of {source}" in summary
    learned = check(Decoder(kind, learned=True), inputs=(TOKENS,))
    assert f"values: a learned share of its own and of those of {sources[-1]}" in summaries(learned)[-1]


def test_shares_that_one_layer_does_not_use_are_told_and_no_departure() -> None:
    report = check(Decoder("first", mixed=(1,), learned=True), inputs=(TOKENS,))
    assert not report.departures
    assert "blocks.2.share" in " ".join(map(str, report.recognition.unused))


def test_an_earlier_stream_that_is_mixed_in_is_told() -> None:
    words = "; ".join(check(Decoder("first", again=0.25), inputs=(TOKENS,)).notices)
    assert "blocks.1 reads 0.75 of the stream + 0.25 of the normalised embedding" in words
    assert "mixed in again" not in "; ".join(check(Decoder("first"), inputs=(TOKENS,)).notices)
