"""Experts whose inputs are multiplied by their shares, as those of Llama 4 are."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention, silu
from veriformer import check

WIDTH, HEADS, EXPERTS, HIDDEN = 32, 4, 4, 24
TOKENS = torch.randint(2, 30, (3, 11), generator=torch.Generator().manual_seed(0))


class Expert(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gate, self.up = (nn.Linear(WIDTH, HIDDEN, bias=False) for _ in range(2))
        self.down = nn.Linear(HIDDEN, WIDTH, bias=False)

    def forward(self, x: Any) -> Any:
        return self.down(silu(self.gate(x)) * self.up(x))


class Mixture(nn.Module):
    """Experts by a loop over the tokens sent to each, by one over all tokens, or in stacks of matrices."""

    def __init__(self, kind: str, shares: Any) -> None:
        super().__init__()
        self.kind, self.shares = kind, shares
        self.router, self.shared = nn.Linear(WIDTH, EXPERTS, bias=False), Expert()
        if kind == "stacked":
            self.into = nn.Parameter(torch.randn(EXPERTS, WIDTH, 2 * HIDDEN) / WIDTH**0.5)
            self.out = nn.Parameter(torch.randn(EXPERTS, HIDDEN, WIDTH) / HIDDEN**0.5)
        else:
            self.experts = nn.ModuleList([Expert() for _ in range(EXPERTS)])

    def forward(self, x: Any) -> Any:
        rows = x.reshape(-1, WIDTH)
        best, chosen = self.router(rows).topk(2, dim=-1)
        shares = torch.zeros(len(rows), EXPERTS, dtype=x.dtype).scatter(1, chosen, self.shares(best).to(x.dtype))
        return (self.given(rows, shares) + self.shared(rows)).view_as(x)

    def given(self, rows: Any, shares: Any) -> Any:
        if self.kind == "stacked":
            gate, up = ((rows * shares.T[..., None]) @ self.into).chunk(2, dim=-1)
            return ((silu(gate) * up) @ self.out).sum(dim=0)
        total = torch.zeros_like(rows)
        for number, expert in enumerate(self.experts):
            sent = torch.nonzero(shares[:, number])[:, 0] if self.kind == "sent" else torch.arange(len(rows))
            total = total.index_add(0, sent, expert(rows[sent] * shares[sent, number, None]))
        return total


class Block(nn.Module):
    def __init__(self, kind: str, shares: Any) -> None:
        super().__init__()
        self.first, self.second = nn.RMSNorm(WIDTH), nn.RMSNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH, bias=False), nn.Linear(WIDTH, WIDTH, bias=False)
        self.mixture = Mixture(kind, shares)

    def forward(self, x: Any) -> Any:
        parts = self.qkv(self.first(x)).chunk(3, -1)
        q, k, v = (one.view(*x.shape[:2], HEADS, -1).transpose(1, 2) for one in parts)
        x = x + self.out(scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.mixture(self.second(x))


class Decoder(nn.Module):
    def __init__(self, kind: str, shares: Any = torch.sigmoid) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.table, self.head = nn.Embedding(30, WIDTH), nn.Linear(WIDTH, 30, bias=False)
        self.blocks, self.norm = nn.ModuleList([Block(kind, shares) for _ in range(2)]), nn.RMSNorm(WIDTH)

    def forward(self, tokens: Any) -> Any:
        x = self.table(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


@pytest.mark.parametrize("kind", ("sent", "all", "stacked"))
def test_shares_of_what_an_expert_reads_are_told(kind: str) -> None:
    report = check(Decoder(kind), inputs=(TOKENS,))
    routers = [part.summary for part in report.parts if part.role == "router"]
    assert report.verdict == "conforms"
    assert routers == ["router, top 2 of 4, sigmoid, times what an expert reads"] * 2


def test_shares_that_follow_from_no_scores_are_not_judged() -> None:
    report = check(Decoder("sent", lambda best: best**2 + 0.5), inputs=(TOKENS,))
    assert not report.departures
    assert [part.status for part in report.parts if part.role == "router"] == ["unrecognised"] * 2
