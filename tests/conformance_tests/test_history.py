"""The first calls of a process are made again: what answers them otherwise breaks the law of history."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from veriformer import reference
from veriformer.conformance_tests import Report, check
from veriformer.conformance_tests.core.first_calls import FirstCalls

Array = np.ndarray


def judged(*laws: str, **operations: Any) -> Report:
    """Check an object with the given operations."""
    return check(SimpleNamespace(**operations), laws=laws, tier="quick", diagnosis=False)


def statuses(report: Report) -> dict[str, str]:
    return {result.law.id: result.status for result in report.results if result.status != "not_declared"}


def attention(query: Array, key: Array, value: Array) -> Array:
    return reference.scaled_dot_product_attention(query, key, value).astype(query.dtype)


def test_a_first_call_that_is_answered_otherwise_later_breaks_the_law_of_history() -> None:
    made = 0

    def warming_up(query: Array, key: Array, value: Array) -> Array:
        nonlocal made
        made += 1
        return attention(query, key, value) + np.float32(made == 2)

    law = "attention.history_independence"
    report = judged(law, scaled_dot_product_attention=warming_up)
    assert statuses(report) == {law: "failed"}
    (failed,) = (result for result in report.results if result.status == "failed")
    assert failed.counterexample is not None
    verdict = failed.counterexample.verdict
    assert verdict.note == "expected is the answer to this call when it was call 2"
    np.testing.assert_allclose(verdict.expected - verdict.actual, 1.0, atol=1e-5)
    assert len(failed.counterexample.calls) == 1


def test_a_mask_that_is_answered_otherwise_later_breaks_the_law_of_history() -> None:
    made = 0

    def warming_up(lengths: Array, max_length: int) -> Array:
        nonlocal made
        made += 1
        mask = np.arange(max_length) < lengths[:, None]
        return mask ^ (made == 1)

    report = judged("padding_mask.shape", "padding_mask.history_independence", padding_mask=warming_up)
    assert statuses(report)["padding_mask.history_independence"] == "failed"


def test_what_answers_alike_twice_in_a_row_is_not_called_random() -> None:
    made = 0

    def warming_up(x: Array) -> Array:
        nonlocal made
        made += 1
        return np.asarray(reference.gelu(x) + np.float32(made == 1), dtype=x.dtype)

    laws = ("gelu.same_call_same_answer", "gelu.history_independence")
    report = check(SimpleNamespace(gelu=warming_up), laws=laws, tier="quick")
    assert statuses(report) == {laws[0]: "passed", laws[1]: "failed"}
    named = {slug for one in report.diagnoses for suspect in one.suspects for slug in suspect.mistakes}
    assert "dropout_active_in_eval" not in named


def test_of_costly_operations_fewer_first_calls_are_kept() -> None:
    kept = {}
    for operation in ("encoder_backward", "encoder", "gelu_backward"):
        calls = FirstCalls()
        for _ in range(200):
            calls.add(SimpleNamespace(operation=operation), {}, np.zeros(3))
        kept[operation] = len(calls.kept)
        assert calls.made == 200
    assert kept == {"encoder_backward": 12, "encoder": 25, "gelu_backward": 50}
