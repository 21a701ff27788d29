"""Weights are frozen by design where the code says so, and keeps a gradient from them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from veriformer.conformance_tests.run.checking_models import check_model

torch = pytest.importorskip("torch")

ADAPTED = '''
import torch
from torch import nn


class Adapted(nn.Module):
    """SAID"""

    def __init__(self):
        super().__init__()
        self.table, self.base = nn.Embedding(11, 16), nn.Linear(16, 48)
        self.down, self.up, self.out = nn.Linear(16, 4, bias=False), nn.Linear(4, 48, bias=False), nn.Linear(16, 11)

    def forward(self, tokens):
        x = self.table(tokens)
        whole = nn.functional.linear(x, self.base.weight.detach(), self.base.bias.detach()) + self.up(self.down(x))
        query, key, value = whole.chunk(3, -1)
        return self.out((query @ key.transpose(-1, -2) / 4.0).softmax(-1) @ value)


def build():
    return Adapted()
'''


@pytest.fixture
def statuses(tmp_path: Path) -> Callable[[str], tuple[str, str]]:
    def of(said: str) -> tuple[str, str]:
        file = tmp_path / f"model_{len(said)}.py"
        file.write_text(ADAPTED.replace("SAID", said), encoding="utf-8")
        report = check_model(f"{file}:build")
        status = next(one.status for one in report.results if one.law.id == "model.gradients.value")
        return status, " ".join(report.laws[0].report.notices)

    return of


def test_what_is_said_to_be_frozen_is_named_and_not_compared(statuses: Callable[[str], tuple[str, str]]) -> None:
    status, notices = statuses("The base weights are frozen.")
    assert status == "passed" and "No gradient reaches base.weight, base.bias" in notices


@pytest.mark.parametrize("said", ("A low-rank update.", "Its settings are a frozen dataclass."))
def test_what_nobody_calls_frozen_is_a_mistake(statuses: Callable[[str], tuple[str, str]], said: str) -> None:
    status, _ = statuses(said)
    assert status == "failed"
