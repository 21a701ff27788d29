"""How a window counts, and from where, is found by probing; a window that counts neither way is accused."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from veriformer import reference
from veriformer.adapters.loading import load
from veriformer.conformance_tests import check
from veriformer.conformance_tests.conventions.inference import examine
from veriformer.conformance_tests.core.subject import Subject, standard_conventions
from veriformer.conformance_tests.operations.merging.cases import MergeCase
from veriformer.conformance_tests.operations.merging.inputs import MergeInputs
from veriformer.spec.operations import OPERATIONS

ATTENTION = OPERATIONS["scaled_dot_product_attention"]


def windowed(counting: Any, alignment: Any) -> SimpleNamespace:
    def scaled_dot_product_attention(query: Any, key: Any, value: Any, *, window: Any = None) -> Any:
        result = reference.scaled_dot_product_attention(
            query, key, value, window=window, window_counting=counting, causal_alignment=alignment
        )
        return result.astype(query.dtype)

    return SimpleNamespace(scaled_dot_product_attention=scaled_dot_product_attention)


@pytest.mark.parametrize("counting", ("inclusive", "exclusive"))
@pytest.mark.parametrize("alignment", ("top_left", "bottom_right"))
def test_counting_and_alignment_are_found_and_all_laws_hold(counting: str, alignment: str) -> None:
    subject = windowed(counting, alignment)
    findings = {f.convention: (f.value, f.how) for f in examine(load(subject), ATTENTION).findings}
    assert findings["window_counting"] == (counting, "inferred")
    assert findings["causal_alignment"] == (alignment, "inferred")
    report = check(subject, laws=("attention.window.*",), tier="quick")
    assert {result.status for result in report.results} == {"passed", "not_declared"}


def test_a_declared_counting_that_is_not_obeyed_is_accused() -> None:
    subject = windowed("exclusive", "top_left")
    subject.conventions = {"window_counting": "inclusive"}
    report = check(subject, laws=("attention.window.value",), tier="quick")
    assert [result.status for result in report.results] == ["failed"]


def test_sinks_follow_their_heads_where_heads_are_tiled() -> None:
    def grouped_query_attention(query: Any, key: Any, value: Any, *, sinks: Any = None) -> Any:
        times = (1, query.shape[1] // key.shape[1], 1, 1)
        tiled = (np.tile(key, times), np.tile(value, times))
        return reference.scaled_dot_product_attention(query, *tiled, sinks=sinks).astype(query.dtype)

    subject = SimpleNamespace(grouped_query_attention=grouped_query_attention, conventions={"kv_grouping": "tile"})
    report = check(subject, laws=("grouped_query.sinks.value", "grouped_query.sinks.per_head"), tier="quick")
    assert [result.status for result in report.results] == ["passed", "passed"]


def test_parts_may_be_laid_out_with_the_length_first() -> None:
    def merge_attention(output_a: Any, lse_a: Any, output_b: Any, lse_b: Any) -> Any:
        output, lse = reference.merge_attention(output_a.swapaxes(1, 2), lse_a, output_b.swapaxes(1, 2), lse_b)
        return output.swapaxes(1, 2).astype(output_a.dtype), lse.astype(lse_a.dtype)

    implementation = load(SimpleNamespace(merge_attention=merge_attention))
    profile = examine(implementation, OPERATIONS["merge_attention"])
    assert [(finding.convention, finding.value) for finding in profile.findings] == [("layout", "blhd")]
    inputs = MergeInputs.draw("merge_attention", MergeCase(2, 3, 5, 7, 4, seed=1))
    conventions = {**standard_conventions(), "layout": "blhd"}
    output = Subject(implementation, OPERATIONS["merge_attention"], conventions).call(inputs)
    assert (np.abs(output - inputs.expected(conventions).value) <= inputs.expected(conventions).allowed).all()
