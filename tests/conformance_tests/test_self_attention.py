"""Libraries have paths of their own for self-attention, so x and context are one array in some cases, and stay one."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from veriformer import reference
from veriformer.conformance_tests import check
from veriformer.conformance_tests.operations.attention.case import AttentionCase
from veriformer.conformance_tests.operations.multi_head.inputs import MultiHeadInputs
from veriformer.conformance_tests.reports.snippet import reproduce


def drawn(queries: int, keys: int, seed: int) -> MultiHeadInputs:
    return MultiHeadInputs.draw("multi_head_attention", AttentionCase(2, 2, 2, queries, keys, 3, 3, seed=seed))


@pytest.mark.parametrize(("queries", "keys", "seed", "one"), [(3, 3, 1, True), (3, 3, 2, False), (3, 4, 1, False)])
def test_odd_seeds_draw_self_attention_where_the_lengths_allow_it(queries, keys, seed, one):
    inputs = drawn(queries, keys, seed)
    assert (inputs.x is inputs.context) is one
    assert (inputs.arguments()["x"] is inputs.arguments()["context"]) is one


def wrong_on_itself(x, context, weights, *, num_heads):
    result = reference.multi_head_attention(
        x, context, reference.MultiHeadWeights(**vars(weights)), num_heads=num_heads
    )
    return (result + (1.0 if context is x else 0.0)).astype(x.dtype)


def test_a_mistake_on_that_path_is_found_and_its_script_hands_over_one_array():
    implementation = SimpleNamespace(framework="numpy", multi_head_attention=wrong_on_itself)
    report = check(implementation, laws=["multi_head.queries.permutation"], tier="thorough", diagnosis=False)
    (result,) = report.results
    assert result.counterexample is not None
    text = reproduce("mine.py", "numpy", result.counterexample, law=result.law.id)
    assert "context = x\n" in text
