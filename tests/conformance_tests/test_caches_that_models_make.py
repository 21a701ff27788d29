"""A cache that needs arguments is made as the code of the model makes it, and continuing with it is judged."""

from __future__ import annotations

from typing import Any

import numpy as np
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


class Buffers:
    """Rows for so many samples, and more positions than there are, in float32 whatever the model computes in."""

    def __init__(self, layers: int, samples: int, positions: int) -> None:
        self.held = torch.zeros(layers, samples, 2 * positions, 16, 2)
        self.position, self.layers = 0, layers

    def joined(self, layer: int, new: Any) -> Any:
        length = new.shape[1]
        self.held[layer, :, self.position : self.position + length] = new
        return self.held[layer, :, : self.position + length]


class ByMethodWithSizes(Decoder):
    def init_cache(self, batch_size: int, max_seq_len: int) -> Buffers:
        return Buffers(len(self.layers), batch_size, max_seq_len)


@pytest.mark.parametrize(("late", "status"), ((True, "passed"), (False, "failed")))
def test_a_cache_of_buffers_is_made_for_the_samples_and_positions_of_a_call(late: bool, status: str) -> None:
    report = check_model(ByMethodWithSizes(late=late), (TOKENS,))
    assert {one.law.id: one.status for one in report.results}["model.cache.tokens"] == status


class OfNumPy:
    """One causal attention over learned positions; a list of keys and values that it makes is filled in place."""

    def __init__(self, start: int = 0, dtype: Any = np.float64, *, top_left: bool = False) -> None:
        numbers = np.random.default_rng(0)
        self.table, self.positions = numbers.normal(size=(11, 8)), numbers.normal(size=(600, 8))
        self.qkv, self.out, self.head = (numbers.normal(size=(8, width)) for width in (24, 8, 11))
        self.start, self.dtype, self.top_left = start, dtype, top_left

    def new_cache(self) -> list[Any]:
        return [None]

    def __call__(self, tokens: Any, cache: list[Any] | None = None) -> Any:
        cache = self.new_cache() if cache is None else cache
        past = 0 if cache[0] is None else cache[0][0].shape[1]
        length, begin = tokens.shape[1], max(past - self.start, 0)
        x = self.table[tokens] + self.positions[begin : begin + length]
        query, key, value = np.split(x @ self.qkv, 3, -1)
        if cache[0] is not None:
            key, value = np.concatenate([cache[0][0], key], 1), np.concatenate([cache[0][1], value], 1)
        cache[0] = (key.astype(self.dtype), value.astype(self.dtype))
        logits = query @ key.swapaxes(-1, -2) / np.sqrt(8)
        seen = np.tri(length, key.shape[1], 0 if self.top_left and length > 1 else past, dtype=bool)
        logits = np.where(seen, logits, -np.inf)
        weights = np.exp(logits - logits.max(-1, keepdims=True))
        return (x + weights / weights.sum(-1, keepdims=True) @ value @ self.out) @ self.head


@pytest.mark.parametrize(
    ("model", "by_token", "in_parts"),
    (
        (OfNumPy(), "passed", "passed"),
        (OfNumPy(start=1), "failed", "failed"),
        (OfNumPy(top_left=True), "passed", "failed"),
        # What it holds in float32 is less than what it computes, which is nobody's mistake.
        (OfNumPy(dtype=np.float32), "not_declared", "not_declared"),
    ),
    ids=("right", "one position too early", "mask from the top left", "in float32"),
)
def test_a_cache_of_numpy_that_is_filled_in_place(model: Any, by_token: str, in_parts: str) -> None:
    report = check_model(model, (np.asarray(TOKENS),))
    statuses = {one.law.id: one.status for one in report.results}
    assert (statuses["model.cache.tokens"], statuses["model.cache.parts"]) == (by_token, in_parts)
