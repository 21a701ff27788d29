"""A norm is told once, wherever it stands and however many sublayers read it, and with what it departs in."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from veriformer.conformance_tests import check
from veriformer.conformance_tests.recognition.witness import _STATED, _said

torch = pytest.importorskip("torch")
nn = torch.nn
WIDTH, HEADS = 24, 4


class Unbiased(nn.LayerNorm):
    def forward(self, x: Any) -> Any:
        size = (x.var(-1, keepdim=True) + self.eps).sqrt()
        return (x - x.mean(-1, keepdim=True)) / size * self.weight + self.bias


class Parallel(nn.Module):
    """Attention and network read one norm."""

    def __init__(self, norm: type) -> None:
        super().__init__()
        self.start, self.qkv, self.out = norm(WIDTH), nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x: Any) -> Any:
        y = self.start(x)
        q, k, v = (one.unflatten(-1, (HEADS, -1)).transpose(1, 2) for one in self.qkv(y).chunk(3, -1))
        heads = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return x + self.out(heads.transpose(1, 2).flatten(2)) + self.down(nn.functional.gelu(self.up(y)))


class Model(nn.Module):
    def __init__(self, norm: type = nn.LayerNorm, first: type | None = None) -> None:
        super().__init__()
        self.tokens, self.first = nn.Embedding(29, WIDTH), first(WIDTH) if first else nn.Identity()
        self.blocks = nn.ModuleList([Parallel(norm), Parallel(norm)])
        self.last, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 29, bias=False)

    def forward(self, tokens: Any) -> Any:
        x = self.first(self.tokens(tokens))
        for block in self.blocks:
            x = block(x)
        return self.head(self.last(x))


def _checked(model: nn.Module) -> Any:
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(parameter + 0.3 * torch.randn(parameter.shape))
    return check(model.eval(), inputs=torch.randint(0, 29, (2, 11)))


@pytest.mark.parametrize(("norm", "status"), ((nn.LayerNorm, "holds"), (Unbiased, "departs")))
def test_a_norm_that_two_sublayers_read_is_told_once(norm: type, status: str) -> None:
    report = _checked(Model(norm))
    told = [part for part in report.parts if part.path.endswith(".start")]
    assert [part.path for part in told] == ["blocks.0.start", "blocks.1.start"]
    assert {part.status for part in told} == {status}
    assert told[0].summary.endswith("before self_attention and before feed_forward")


def test_a_wrong_norm_of_the_embedding_gets_no_tick() -> None:
    assert {part.status for part in _checked(Model()).parts} == {"holds"}
    report = _checked(Model(first=Unbiased))
    assert [one.suspects[0].name for one in report.departures] == ["unbiased_variance"]
    assert [part.role for part in report.parts if part.status == "departs"] == ["token_embedding"]


@pytest.mark.parametrize(
    ("says", "found", "words"),
    (
        ("the queries are cut into {} heads", 1, "the queries are cut into 1 head"),
        ("the queries are cut into {} heads", 11, "the queries are cut into 11 heads"),
        ("there are {} heads of keys", 1, "there is 1 head of keys"),
        ("each query sees {} keys", 1, "each query sees 1 key"),
    ),
)
def test_of_one_head_it_is_spoken_as_of_one(says: str, found: int, words: str) -> None:
    assert says in {one.says for one in _STATED}
    assert _said(SimpleNamespace(says=says), found) == words
