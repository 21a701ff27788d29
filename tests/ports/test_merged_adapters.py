"""Adapters beside a map are compared with the map that they were merged into, whatever the factor stands at."""

from __future__ import annotations

from typing import Any

import pytest
from veriformer import compare
from veriformer.conformance_tests.run.checking_models import check_model

torch = pytest.importorskip("torch")
nn = torch.nn
WIDTH, RANK, ALPHA = 24, 3, 12


class Adapted(nn.Module):
    def __init__(self, way: str, bias: bool) -> None:
        super().__init__()
        self.base = nn.Linear(WIDTH, WIDTH, bias=bias)
        self.down = nn.Parameter(torch.randn(RANK, WIDTH) * 0.2)
        self.up = nn.Parameter(torch.randn(WIDTH, RANK) * 0.2)
        self.way = way

    def forward(self, x: Any) -> Any:
        factor = ALPHA / RANK
        if self.way == "in front":
            return self.base(x) + x * factor @ self.down.T @ self.up.T
        if self.way == "between":
            return self.base(x) + x @ self.down.T * factor @ self.up.T
        return self.base(x) + factor * (x @ self.down.T @ self.up.T)


class Decoder(nn.Module):
    def __init__(self, linear: Any) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.tokens, self.places = nn.Embedding(40, WIDTH), nn.Embedding(32, WIDTH)
        self.norm, self.last, self.head = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 40)
        self.query, self.value = linear(), linear()
        self.key, self.out = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, tokens: Any) -> Any:
        x = self.tokens(tokens) + self.places(torch.arange(tokens.shape[1]))
        y = self.norm(x)
        q, k, v = (f(y).unflatten(-1, (4, -1)).transpose(1, 2) for f in (self.query, self.key, self.value))
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.head(self.last(x + self.out(y.transpose(1, 2).flatten(2))))


def merged(model: Decoder, factor: float, bias: bool) -> Decoder:
    plain = Decoder(lambda: nn.Linear(WIDTH, WIDTH, bias=bias))
    state = {name: tensor for name, tensor in model.state_dict().items() if name in plain.state_dict()}
    for name in ("query", "value"):
        own = getattr(model, name)
        state[f"{name}.weight"] = own.base.weight + factor * own.up @ own.down
        if bias:
            state[f"{name}.bias"] = own.base.bias
    plain.load_state_dict(state)
    return plain


@pytest.mark.parametrize("bias", (False, True))
@pytest.mark.parametrize("way", ("behind", "between", "in front"))
def test_a_merged_adapter_is_the_same_map(way: str, bias: bool) -> None:
    model = Decoder(lambda: Adapted(way, bias))
    found = compare(model, merged(model, ALPHA / RANK, bias))
    assert found.verdict == "agree", str(found)
    assert {one.relation for one in found.weights} == {"same", "stored"}
    wrong = compare(model, merged(model, 1.0, bias))
    assert [one.cause.name for one in wrong.differences] == ["other numbers"] * 2
    assert "of the largest entry apart" in wrong.differences[0].cause.sentence


def test_an_attention_with_adapters_is_recognised() -> None:
    report = check_model(Decoder(lambda: Adapted("behind", bias=True)))
    assert report.is_recognised
    assert report.departures == ()
    assert report.recognition.share_understood == 1.0
    assert report.recognition.unused == ()
