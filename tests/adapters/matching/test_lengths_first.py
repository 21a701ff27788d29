"""Heads behind lengths without samples, keys counted by queries, and rows that are more than looked up."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from veriformer import check


def shares(logits: np.ndarray) -> np.ndarray:
    raised = np.exp(logits - logits.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True)


def attention(query: Any, key: Any, value: Any) -> Any:
    """Query (L, H, D), key and value (S, H, D)."""
    logits = np.einsum("lhd,shd->hls", query, key) / np.sqrt(query.shape[-1])
    return np.einsum("hls,shd->lhd", shares(logits), value)


def attention_backward(query: Any, key: Any, value: Any, grad_output: Any) -> Any:
    scale = query.shape[-1] ** -0.5
    weights = shares(np.einsum("lhd,shd->hls", query, key) * scale)
    of_weights = np.einsum("lhd,shd->hls", grad_output, value)
    logits = weights * (of_weights - (weights * of_weights).sum(-1, keepdims=True)) * scale
    of_value = np.einsum("hls,lhd->shd", weights, grad_output)
    return np.einsum("hls,shd->lhd", logits, key), np.einsum("hls,lhd->shd", logits, query), of_value


def unscaled(query: Any, key: Any, value: Any) -> Any:
    return np.einsum("hls,shd->lhd", shares(np.einsum("lhd,shd->hls", query, key)), value)


def without_the_scale(query: Any, key: Any, value: Any, grad_output: Any) -> Any:
    of_query, of_key, of_value = attention_backward(query, key, value, grad_output)
    return of_query * query.shape[-1] ** 0.5, of_key, of_value


def test_lengths_may_come_before_heads() -> None:
    report = check({"attention": attention, "attention_backward": attention_backward}, tier="quick")
    assert report.verdict == "conforms"
    assert all("(L, H, D), without samples" in notice for notice in report.notices)
    assert len(report.notices) == 2


def test_mistakes_are_seen_there() -> None:
    report = check({"attention": unscaled}, tier="quick")
    assert report.diagnoses[0].suspects[0].mistakes == ("scale_missing",)
    report = check({"attention": attention, "attention_backward": without_the_scale}, tier="quick")
    assert report.verdict == "violates"


LIMIT: list[Any] = []


def in_parts(Q: Any, K: Any, V: Any, Br: int = 8, Bc: int = 4, causal: bool = True) -> Any:
    """Q, K, V: (N, d)."""
    number, width = Q.shape
    found = np.zeros((number, width))
    for i in range(0, number, Br):
        rows = np.arange(i, min(i + Br, number))
        most, total, added = np.full(len(rows), -np.inf), np.zeros(len(rows)), np.zeros((len(rows), width))
        for j in range(0, number, Bc):
            if causal and j > LIMIT[0](i, rows):
                break
            logits = Q[rows] @ K[j : j + Bc].T / np.sqrt(width)
            if causal:
                logits = np.where(rows[:, None] >= j + np.arange(logits.shape[1]), logits, -np.inf)
            larger = np.maximum(most, logits.max(1))
            raised, kept = np.exp(logits - larger[:, None]), np.exp(most - larger)
            total, added = total * kept + raised.sum(1), added * kept[:, None] + raised @ V[j : j + Bc]
            most = larger
        found[rows] = added / total[:, None]
    return found


@pytest.mark.parametrize(("of_rows", "verdict"), ((lambda i, rows: rows[-1], "conforms"), (lambda i, _: i, "violates")))
def test_keys_that_are_counted_by_queries_are_as_many(
    of_rows: Any, verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[__name__], "LIMIT", [of_rows])
    report = check({"attention": in_parts}, tier="quick")
    assert report.verdict == verdict
    assert "`Br` is 4 and `Bc` is 2" in " ".join(report.notices)


def test_what_is_wrong_with_more_keys_is_said() -> None:
    def of_queries(query: Any, key: Any, value: Any) -> Any:
        number = query.shape[0]
        logits = query @ key[: min(number, key.shape[0])].T / np.sqrt(query.shape[1])
        return shares(logits) @ value[: min(number, key.shape[0])]

    report = check({"attention": of_queries}, tier="quick")
    assert "as many keys as queries, since with others its results are wrong" in " ".join(report.notices)


def embed(tokens: Any, table: Any, start: int = 0) -> Any:
    """Rows times sqrt(d_model), plus the positional encoding."""
    width = table.shape[1]
    return table[tokens] * np.sqrt(width) + np.arange(start, start + tokens.shape[1])[:, None]


def test_an_embedding_with_positions_is_no_lookup() -> None:
    report = check({"embed": embed, "softmax": shares}, tier="quick")
    assert report.not_judged["embed"] == "as token_embedding, it does more to the rows than token_embedding does"


def of_equal_widths(query: Any, key: Any, value: Any, window_size: Any = (-1, -1)) -> Any:
    """query, key and value (batch, length, heads, width); -1 on a side of a window is no limit."""
    left, right = window_size
    number, width = query.shape[1], query.shape[-1]
    logits = np.einsum("blhd,bshd->bhls", query, key) / np.sqrt(width)
    distances = np.arange(number)[:, None] + key.shape[1] - number - np.arange(key.shape[1])
    logits = np.where((left >= 0) & (distances > left) | (right >= 0) & (-distances > right), -np.inf, logits)
    return np.zeros(query.shape) + np.einsum("bhls,bshd->blhd", shares(logits), value)


def test_what_a_function_of_another_form_refuses_is_not_held_against_it() -> None:
    report = check({"attention": of_equal_widths}, tier="quick")
    assert report.verdict == "conforms"
