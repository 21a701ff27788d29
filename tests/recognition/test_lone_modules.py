"""Single modules, and models that are no Transformer: neither is accused, and what is not there is not passed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from veriformer.conformance_tests import check

torch = pytest.importorskip("torch")
nn = torch.nn
WIDTH = 24


class OwnAttention(nn.Module):
    def __init__(self, scale: float):
        super().__init__()
        self.scale = scale
        self.to_q, self.to_k, self.to_v, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))

    def forward(self, query: Any, key: Any, value: Any) -> Any:
        def heads(x: Any) -> Any:
            return x.unflatten(-1, (3, WIDTH // 3)).transpose(1, 2)

        q, k, v = heads(self.to_q(query)), heads(self.to_k(key)), heads(self.to_v(value))
        weights = (q @ k.mT * self.scale).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).flatten(2))


MODULES: dict[str, tuple[Callable[[], Any], str]] = {
    "layer_norm": (lambda: nn.LayerNorm(WIDTH), "layer_norm"),
    "rms_norm": (lambda: nn.RMSNorm(WIDTH), "rms_norm"),
    "network": (
        lambda: nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH)),
        "feed_forward",
    ),
    "torch's attention": (lambda: nn.MultiheadAttention(WIDTH, 3, batch_first=True), "multi_head_attention"),
    "own attention": (lambda: OwnAttention((WIDTH / 3) ** -0.5), "multi_head_attention"),
    "encoder layer": (lambda: nn.TransformerEncoderLayer(WIDTH, 3, 40, batch_first=True), "multi_head_attention"),
}


@pytest.mark.parametrize("name", MODULES)
def test_a_module_alone_is_recognised_and_not_accused_of_a_missing_residual(name: str):
    build, role = MODULES[name]
    report = check(build())
    assert report.verdict == "conforms"
    assert report.explained == report.steps > 0
    assert role in {part.role for part in report.parts}
    assert "token_embedding" not in {part.role for part in report.parts}


def test_a_module_alone_that_is_wrong_departs():
    report = check(OwnAttention(WIDTH**-0.5))
    assert [one.step for one in report.departures] == ["logits"]
    assert report.departures[0].suspects[0].name == "scale_by_d_model_not_head_dim"


def test_a_scale_by_the_number_of_heads_is_a_mistake_and_another_one_is_said():
    report = check(OwnAttention(3**-0.5))
    assert report.departures[0].suspects[0].name == "scale_by_wrong_axis"
    # A configuration may set any other, so that it is no mistake by itself; nobody has to find it out.
    report = check(OwnAttention(0.3))
    assert report.verdict == "conforms"
    assert any("logits times 0.3 (1/√D is 0.3536)" in part.summary for part in report.parts)


class Gated(nn.Module):
    def __init__(self, exchanged: bool):
        super().__init__()
        self.exchanged = exchanged
        self.gate_proj, self.up_proj = (nn.Linear(WIDTH, 40, bias=False) for _ in range(2))
        self.down_proj = nn.Linear(40, WIDTH, bias=False)

    def forward(self, x: Any) -> Any:
        gate, up = self.gate_proj(x), self.up_proj(x)
        gate, up = (up, gate) if self.exchanged else (gate, up)
        return self.down_proj(nn.functional.silu(gate) * up)


def test_the_branch_that_is_called_gate_is_the_one_that_is_activated():
    assert check(Gated(exchanged=False)).verdict == "conforms"
    (one,) = check(Gated(exchanged=True)).departures
    assert one.suspects[0].name == "swiglu_gate_up_swapped"
    assert "up_proj" in one.sentence


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.head = nn.Embedding(50, WIDTH), nn.Linear(WIDTH, 50)
        self.cells = nn.LSTM(WIDTH, WIDTH, batch_first=True)

    def forward(self, tokens: Any) -> Any:
        return self.head(self.cells(self.table(tokens))[0])


def test_a_model_without_any_part_of_a_transformer_is_not_passed():
    report = check(Recurrent())
    assert report.verdict == "error"
    assert report.reason.startswith("no attention, feed-forward network or norm was found")


class NormForgotten(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.head = nn.Embedding(50, WIDTH), nn.Linear(WIDTH, 50)
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(WIDTH, 3, 40, batch_first=True) for _ in range(3))
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(3))

    def forward(self, tokens: Any) -> Any:
        x = self.table(tokens)
        for layer, _ in zip(self.layers, self.norms, strict=True):
            x = layer(x)
        return self.head(x)


def test_parameters_that_nothing_uses_in_any_layer_are_said_of_each_layer():
    departures = check(NormForgotten()).departures
    assert [one.path for one in departures] == ["norms.0", "norms.1", "norms.2"]
    assert {one.sentence for one in departures} == {"the result does not depend on its weight, bias"}
