"""Large calls of attention: parts of the error bound that are cheap are tried before all of it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from veriformer.conformance_tests import check
from veriformer.conformance_tests.core.expected import Expected
from veriformer.conformance_tests.core.subject import standard_conventions
from veriformer.conformance_tests.operations import laws as registry
from veriformer.conformance_tests.operations.attention import inputs as attention_inputs
from veriformer.conformance_tests.operations.attention.case import AttentionCase
from veriformer.conformance_tests.operations.inputs import draw_inputs

Array = np.ndarray
OPERATION = "scaled_dot_product_attention"
CONVENTIONS = {**standard_conventions()}


@pytest.mark.parametrize("numerics", ("eager", "fused"))
@pytest.mark.parametrize("dtype", ("float64", "float32", "bfloat16", "float16"))
@pytest.mark.parametrize("palette", ("bits", "integers", "normal", "offset", "repeated"))
@pytest.mark.parametrize("mask", ("none", "random", "one_visible"))
def test_what_is_tried_first_is_never_more_than_what_is_allowed(
    monkeypatch: pytest.MonkeyPatch, palette: Any, dtype: str, mask: Any, numerics: str
) -> None:
    monkeypatch.setattr(attention_inputs, "_COSTLY", 0)
    for seed in range(3):
        case = AttentionCase(2, 2, 2, 7, 9, 5, 4, dtype, palette, 1 + 3 * (seed % 2), mask, seed=seed)
        found: Expected = draw_inputs(OPERATION, case).expected({**CONVENTIONS, "numerics": numerics})
        allowed = found.allowed[found.judged] * (1 + 1e-9)
        # The rounding of the result alone comes before them.
        assert len(found.floors) == 3
        assert all((floor()[found.judged] <= allowed).all() for floor in found.floors)


@pytest.mark.parametrize("dtype", ("float64", "float32", "bfloat16", "float16"))
def test_what_is_tried_last_is_most_of_what_is_allowed_where_values_are_apart(dtype: str) -> None:
    found = draw_inputs(OPERATION, AttentionCase(1, 1, 1, 128, 128, 16, 16, dtype, seed=1)).expected(CONVENTIONS)
    assert np.median(found.floors[-1]() / found.allowed) > 0.5


def test_of_small_cases_all_is_computed_at_once() -> None:
    assert draw_inputs(OPERATION, AttentionCase(1, 1, 1, 32, 32, 16, 16)).expected(CONVENTIONS).floors[1:] == ()
    assert draw_inputs(OPERATION, AttentionCase(1, 1, 1, 256, 256, 16, 16)).expected(CONVENTIONS).floors[1:]


def weights(query: Array, key: Array, scale: float) -> Array:
    logits = query @ key.swapaxes(-1, -2) * query.dtype.type(scale)
    exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(exponentials / exponentials.sum(axis=-1, keepdims=True))


@pytest.mark.parametrize(("error", "verdict"), ((0.0, "conforms"), (1e-3, "violates")))
def test_large_calls_are_judged_rightly(monkeypatch: pytest.MonkeyPatch, error: float, verdict: str) -> None:
    from dataclasses import replace

    def attention(query: Array, key: Array, value: Array) -> Array:
        return np.asarray(weights(query, key, (1 + error) / np.sqrt(query.shape[-1])) @ value)

    large = {
        identifier: replace(registry.laws()[identifier], space=replace(space, queries=200, keys=200))
        for identifier in ("attention.scale", "attention.values.linear", "attention.keys.permutation")
        if (space := registry.laws()[identifier].space)
    }
    monkeypatch.setattr("veriformer.conformance_tests.run.runner.laws", lambda: large)
    report = check(SimpleNamespace(scaled_dot_product_attention=attention), tier="quick", shrink=False, diagnosis=False)
    assert report.verdict == verdict
    assert len(report.results) == len(large)
