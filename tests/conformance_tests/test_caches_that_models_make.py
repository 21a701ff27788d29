"""A cache that needs arguments is made as the code of the model makes it, and continuing with it is judged."""

from __future__ import annotations

from typing import Any

import pytest
from veriformer.conformance_tests.run.checking_models import check_model

torch = pytest.importorskip("torch")
TOKENS = torch.arange(2 * 9).reshape(2, 9) % 11


class Cache:
    def __init__(self, layers: int) -> None:
        self.held: list[Any] = [None] * layers
        self.position = 0

    def joined(self, layer: int, new: Any) -> Any:
        whole = new if self.held[layer] is None else torch.cat((self.held[layer], new), 1)
        self.held[layer] = whole
        return whole


class Decoder(torch.nn.Module):
    """Two causal attentions over learned positions; `late` moves the position when the first layer is done."""

    def __init__(self, *, late: bool = True) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.table, self.positions = torch.nn.Embedding(11, 16), torch.nn.Embedding(32, 16)
        self.layers = torch.nn.ModuleList(torch.nn.Linear(16, 48) for _ in range(2))
        self.outs = torch.nn.ModuleList(torch.nn.Linear(16, 16) for _ in range(2))
        self.head, self.late = torch.nn.Linear(16, 11), late

    def forward(self, tokens: Any, cache: Any = None) -> Any:
        length = tokens.shape[1]
        x = self.table(tokens)
        for number, (layer, out) in enumerate(zip(self.layers, self.outs, strict=True)):
            start = 0 if cache is None else cache.position
            at = torch.arange(start, start + length)
            query, key, value = layer(x + self.positions(at)).chunk(3, -1)
            if cache is not None:
                key, value = cache.joined(number, torch.stack((key, value), -1)).unbind(-1)
                cache.position += 0 if self.late else length
            logits = query @ key.transpose(-1, -2) / 4.0
            hidden = torch.arange(key.shape[1]) > torch.arange(key.shape[1] - length, key.shape[1])[:, None]
            x = x + out(logits.masked_fill(hidden, -1e9).softmax(-1) @ value)
        if cache is not None and self.late:
            cache.position += length
        return self.head(x)


class ByExpression(Decoder):
    def generate(self, tokens: Any) -> Any:
        cache = Cache(len(self.layers))
        return self(tokens, cache).argmax(-1)


class ByMethod(Decoder):
    def new_cache(self, size: int = 0) -> Cache:
        return Cache(len(self.layers) + size)


@pytest.mark.parametrize("kind", (ByExpression, ByMethod))
@pytest.mark.parametrize(("late", "status"), ((True, "passed"), (False, "failed")))
def test_a_cache_that_needs_arguments(kind: Any, late: bool, status: str) -> None:
    report = check_model(kind(late=late), (TOKENS,))
    assert {one.law.id: one.status for one in report.results}["model.cache.tokens"] == status
