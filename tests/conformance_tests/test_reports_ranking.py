"""The violation shown first is the one that says most about the mistake."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from veriformer.conformance_tests import check
from veriformer.conformance_tests.core.ranking import most_telling_first

Array = np.ndarray


def attend(query: Array, key: Array, value: Array, visible: Array | bool = True) -> Array:
    logits = query @ key.swapaxes(-1, -2) / np.sqrt(query.dtype.type(query.shape[-1]))
    logits = np.where(visible, logits, -np.inf).astype(query.dtype)
    exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True) @ value


def tiled_heads(query: Array, key: Array, value: Array) -> Array:
    times = (1, query.shape[1] // key.shape[1], 1, 1)
    return attend(query, np.tile(key, times), np.tile(value, times))


def unbiased_variance(x: Array, gamma: Array, beta: Array, *, eps: float) -> Array:
    centred = x - x.mean(axis=-1, keepdims=True)
    return np.asarray(centred / np.sqrt(x.var(axis=-1, ddof=1, keepdims=True) + eps) * gamma + beta).astype(x.dtype)


def one_key_too_many(query: Array, key: Array, value: Array, *, is_causal: bool = False) -> Array:
    rows, columns = np.ogrid[: query.shape[-2], : key.shape[-2]]
    return attend(query, key, value, columns <= rows + 1 if is_causal else True)


def violations(operation: str, function: Callable[..., Any]) -> list[str]:
    """Return the ids of the laws that a function breaks, as a report orders them."""
    report = check(SimpleNamespace(**{operation: function}), tier="quick")
    return [result.law.id for result in most_telling_first([r for r in report.results if r.status != "not_declared"])]


@pytest.mark.parametrize(
    ("operation", "function", "law"),
    (
        ("grouped_query_attention", tiled_heads, "grouped_query.repeated_heads"),
        ("layer_norm", unbiased_variance, "layer_norm.unit_variance"),
        ("scaled_dot_product_attention", one_key_too_many, "attention.causal.no_future_leak"),
    ),
)
def test_the_law_about_the_mistake_comes_first(operation: str, function: Callable[..., Any], law: str) -> None:
    assert violations(operation, function)[0] == law


def test_a_law_of_fewer_operations_comes_before_one_of_many() -> None:
    found = violations("grouped_query_attention", tiled_heads)
    assert found.index("grouped_query.repeated_heads") < found.index("grouped_query.scale")
    causal = violations("scaled_dot_product_attention", one_key_too_many)
    assert causal.index("attention.causal.no_future_leak") < causal.index("attention.causal.own_position")
