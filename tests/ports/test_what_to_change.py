"""The report says what to change, in which model, and tells faults of the code from those of the weights."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from veriformer.conformance_tests.mistakes import catalogue, remedy
from veriformer.conformance_tests.mistakes.files import read_json
from veriformer.conformance_tests.ports.compare_models import compare_models
from veriformer.conformance_tests.ports.findings import PortComparison
from veriformer.conformance_tests.reports.ports import to_change

WIDTH, HEADS, TOKENS, LENGTH = 24, 4, 29, 9


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.q, self.k, self.v, self.o = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.up, self.down = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.network(x + self.attention(self.n1(x)))

    def network(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(nn.functional.gelu(self.up(self.n2(x))))

    def attention(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (one.unflatten(-1, (HEADS, -1)).transpose(1, 2) for one in self.projected(x))
        logits = q @ k.mT / math.sqrt(WIDTH // HEADS)
        hidden = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
        weights = self.normalised(logits.masked_fill(hidden, -math.inf))
        return self.o((weights @ v).transpose(1, 2).flatten(2))

    def projected(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return self.q(x), self.k(x), self.v(x)

    def normalised(self, logits: torch.Tensor) -> torch.Tensor:
        return logits.softmax(-1)


class AlongQueries(Block):
    def normalised(self, logits: torch.Tensor) -> torch.Tensor:
        return logits.softmax(-2)


class KeysForValues(Block):
    def projected(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return self.q(x), self.k(x), self.k(x)


class FirstNormTwice(Block):
    def network(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(nn.functional.gelu(self.up(self.n1(x))))


class WithoutResidual(Block):
    def network(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(nn.functional.gelu(self.up(self.n2(x))))


class WithoutNetwork(Block):
    def network(self, x: torch.Tensor) -> torch.Tensor:
        return x


class Model(nn.Module):
    def __init__(self, block: type[Block] = Block) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(TOKENS, WIDTH), nn.Embedding(LENGTH + 1, WIDTH)
        self.blocks = nn.ModuleList([block(), block()])
        self.last, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, TOKENS, bias=False)
        self.first_row = 0

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1]) + self.first_row)
        for block in self.in_order():
            x = block(x)
        return self.head(self.last(x))

    def in_order(self) -> list[nn.Module]:
        return list(self.blocks)


class Backwards(Model):
    def in_order(self) -> list[nn.Module]:
        return list(self.blocks)[::-1]


def _filled(model: nn.Module) -> Any:
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in model.parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            parameter.copy_(1 + 0.3 * noise if parameter.ndim == 1 else 0.4 * noise)
    return model.eval()


def _from_row_one() -> Model:
    model = _filled(Model())
    model.first_row = 1
    return model


def _compared(second: nn.Module, first: nn.Module | None = None) -> PortComparison:
    tokens = torch.randint(0, TOKENS, (2, LENGTH - 1), generator=torch.Generator().manual_seed(5))
    return compare_models(first or _filled(Model()), second, tokens)


def _wanted(found: PortComparison) -> list[str]:
    return [change for _, wanted in to_change(found) for change in wanted]


FAULTS: dict[str, tuple[Callable[[], nn.Module], str]] = {
    "softmax": (lambda: _filled(Model(AlongQueries)), "take the softmax over the keys"),
    "keys for values": (lambda: _filled(Model(KeysForValues)), "take blocks.0.v.weight (value weight) in place of"),
    "norm": (lambda: _filled(Model(FirstNormTwice)), "take blocks.0.n2.weight (norm before: gain) in place of"),
    "residual": (lambda: _filled(Model(WithoutResidual)), "add the sublayer's output to the stream"),
    "network": (lambda: _filled(Model(WithoutNetwork)), "add a part like A's blocks.0: feed_forward"),
    "positions": (_from_row_one, "as in A: learned positions, and not learned positions from row 1"),
    "order of layers": (lambda: _filled(Backwards()), "run layers 0 and 1 in A's order"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_must_change_is_said_and_not_the_fault(fault: str) -> None:
    build, words = FAULTS[fault]
    found = _compared(build())
    assert any(words in change for change in _wanted(found)), _wanted(found)
    said = {one.cause.sentence.removeprefix("B: ") for one in found.differences}
    assert not [change for change in _wanted(found) if change.partition(": ")[2] in said]


def test_what_the_first_model_must_change_is_said_of_it() -> None:
    found = _compared(_filled(Model()), _filled(Model(AlongQueries)))
    ((title, wanted),) = to_change(found)
    assert title.startswith(found.first)
    assert "take the softmax over the keys" in wanted[0]


@pytest.mark.parametrize("fault", ("keys for values", "norm", "order of layers"))
def test_weights_that_the_code_takes_at_wrong_places_are_the_same_weights(fault: str) -> None:
    found = _compared(FAULTS[fault][0]())
    assert found.differences
    assert {one.cause.kind for one in found.differences} == {"mistake"}
    assert {one.relation for one in found.weights} == {"same"}


def test_a_weight_that_was_loaded_into_another_is_not_the_same() -> None:
    wrong = _filled(Model())
    wrong.blocks[1].k.weight = copy.deepcopy(wrong.blocks[1].q.weight)
    found = _compared(wrong)
    assert [(one.cause.kind, one.cause.name) for one in found.differences] == [("weight", "elsewhere")]
    assert "take blocks.1.k.weight" in _wanted(found)[0]
    assert [one.names_a for one in found.weights if one.relation != "same"] == [("blocks.1.k.weight",)]


class WithAFactor(nn.Module):
    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor, self.first, self.second = factor, nn.Linear(12, WIDTH), nn.Linear(WIDTH, 7)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(self.second(self.factor * torch.tanh(self.first(x)).cumsum(1)))


@pytest.mark.parametrize("factor", (0.25, -0.5))
def test_a_factor_before_a_map_with_a_bias_is_a_factor(factor: float) -> None:
    given = torch.randn(2, 11, 12, generator=torch.Generator().manual_seed(1))
    found = compare_models(_filled(WithAFactor(0.5)), _filled(WithAFactor(factor)), given)
    assert [one.cause.kind for one in found.differences] == ["factor"]


def test_every_remedy_is_one_of_a_known_mistake() -> None:
    slugs = read_json("remedies.json")
    assert set(slugs) <= set(catalogue())
    assert all(remedy(slug) and not remedy(slug).endswith(".") for slug in slugs)
    assert remedy("no_such_mistake") == ""
