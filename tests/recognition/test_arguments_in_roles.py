"""Attentions with an argument each for queries, keys and values: one taken for another is a mistake, its order none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from veriformer.conformance_tests import check

torch = pytest.importorskip("torch")
nn = torch.nn
WIDTH = 24


class Attention(nn.Module):
    """Which argument serves as keys and which as values is chosen."""

    def __init__(self, keys: str = "k", values: str = "v"):
        super().__init__()
        self.keys, self.values = keys, values
        self.to_q, self.to_k, self.to_v, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))

    def forward(self, q: Any, k: Any, v: Any, mask: Any = None) -> Any:
        given = {"q": q, "k": k, "v": v}

        def heads(x: Any) -> Any:
            return x.unflatten(-1, (3, WIDTH // 3)).transpose(1, 2)

        query = heads(self.to_q(q))
        key, value = heads(self.to_k(given[self.keys])), heads(self.to_v(given[self.values]))
        weights = (query @ key.mT * (WIDTH // 3) ** -0.5).softmax(-1)
        return self.out((weights @ value).transpose(1, 2).flatten(2))


class InAnotherOrder(Attention):
    def forward(self, values: Any, keys: Any, query: Any, mask: Any) -> Any:
        return super().forward(query, keys, values)


@pytest.mark.parametrize("build", [Attention, lambda: InAnotherOrder("k", "v")])
def test_arguments_in_their_roles_hold(build: Any):
    report = check(build())
    assert report.verdict == "conforms"
    assert {part.role for part in report.parts} == {"multi_head_attention"}
    assert any("and two (2, 13, 24)" in notice for notice in report.notices)


@pytest.mark.parametrize(
    ("keys", "values", "name"),
    [
        ("v", "k", "keys_and_values_swapped"),
        ("k", "k", "operands=values_are_keys"),
        ("v", "v", "operands=keys_are_values"),
        ("q", "q", "cross_attn_uses_decoder_states"),
    ],
)
@pytest.mark.parametrize("kind", [Attention, InAnotherOrder])
def test_an_argument_in_the_role_of_another_departs(kind: Any, keys: str, values: str, name: str):
    report = check(kind(keys, values))
    assert report.verdict == "violates"
    assert report.departures[0].suspects[0].name == name
    assert "are made of the argument" in report.departures[0].sentence


def test_one_array_handed_over_for_all_three_says_nothing():
    x = np.random.default_rng(0).normal(size=(2, 11, WIDTH))
    array = torch.tensor(x)
    assert check(Attention("v", "k"), inputs=(array, array, array)).verdict == "conforms"
