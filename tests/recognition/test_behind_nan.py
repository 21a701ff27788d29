"""What comes behind NaN shows nothing of its parts, and the line of a wrong mask is where it is applied."""

from __future__ import annotations

import inspect
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from veriformer import check
from veriformer.conformance_tests.reports.model_laws import explained_by_departures

TOKENS = torch.randint(2, 30, (3, 9), generator=torch.Generator().manual_seed(0))


class Attention(torch.nn.Module):
    def __init__(self, diagonal: int) -> None:
        super().__init__()
        self.qkv, self.out, self.diagonal = torch.nn.Linear(32, 96), torch.nn.Linear(32, 32), diagonal

    def forward(self, x: Any) -> Any:
        batch, length, _ = x.shape
        query, key, value = (one.view(batch, length, 4, 8).transpose(1, 2) for one in self.qkv(x).chunk(3, -1))
        logits = query @ key.transpose(-1, -2) / math.sqrt(8)
        visible = torch.ones(length, length, dtype=torch.bool).tril(self.diagonal)
        logits = logits.masked_fill(~visible, -torch.inf)
        return self.out((logits.softmax(-1) @ value).transpose(1, 2).reshape(batch, length, 32))


class Decoder(torch.nn.Module):
    def __init__(self, diagonal: int) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.table, self.positions = torch.nn.Embedding(30, 32), torch.nn.Embedding(32, 32)
        self.attentions = torch.nn.ModuleList(Attention(diagonal) for _ in range(2))
        self.networks = torch.nn.ModuleList(
            torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.GELU(), torch.nn.Linear(64, 32)) for _ in range(2)
        )
        self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(32) for _ in range(5))
        self.head = torch.nn.Linear(32, 30, bias=False)

    def forward(self, tokens: Any) -> Any:
        x = self.table(tokens) + self.positions(torch.arange(tokens.shape[1]))
        for number in range(2):
            x = x + self.attentions[number](self.norms[2 * number](x))
            x = x + self.networks[number](self.norms[2 * number + 1](x))
        return self.head(self.norms[4](x))


@pytest.fixture(scope="module")
def report() -> Any:
    return check(Decoder(-1), inputs=(TOKENS,))


# The final norm was "layernorm_wrong_axis, certain", the head "softmax_wrong_axis, certain", a network had 13 names.
def test_only_what_makes_the_nan_departs(report: Any) -> None:
    (departure,) = report.departures
    assert departure.path == "attentions.0"
    assert [one.name for one in departure.suspects] == ["causal_mask_excludes_self"]
    assert report.recognition.differences == ()
    assert "from attentions.0 on, numbers are NaN: no more is judged" in report.recognition.remarks
    statuses = {part.path: part.status for part in report.recognition.parts}
    assert {statuses[path] for path in ("norms.4", "head", "networks.0", "networks.1")} == {"unrecognised"}


def test_laws_that_break_with_nan_are_of_the_departure(report: Any) -> None:
    explained = {id(result) for _, result in explained_by_departures(report)}
    assert {id(one) for one in report.broken} <= explained


def test_the_line_is_that_of_the_mask(report: Any) -> None:
    lines = Path(__file__).read_text().splitlines()
    assert "masked_fill" in lines[report.departures[0].line - 1]
    assert inspect.getsourcefile(Attention) == report.departures[0].file


def test_a_right_one_gives_no_nan() -> None:
    right = check(Decoder(0), inputs=(TOKENS,))
    assert right.departures == ()
    assert not right.recognition.gives_nan
