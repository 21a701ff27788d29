"""The measurement of throughput measures what it says, and leaves the suite as it was."""

from __future__ import annotations

import time
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from veriformer import reference
from veriformer.conformance_tests import check
from veriformer.conformance_tests.core.selection import BATCHES
from veriformer.conformance_tests.operations.laws import laws
from veriformer.conformance_tests.run import runner
from veriformer.conformance_tests.search import search


def test_one_case_a_call_is_as_many_calls_of_which_each_is_one_case(
    benchmark: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What is drawn on purpose comes beside the calls of a tier.
    monkeypatch.setattr(search, "rare_cases", lambda *_, **__: [])
    before = search.batched
    alone = benchmark.one_case_a_call("numpy", ("attention_weights",))
    assert search.batched is before
    chosen = [law for law in laws().values() if law.statement.operation.name == "attention_weights"]
    assert len(chosen) < alone.cases <= len(chosen) * (BATCHES["standard"] + 1)
    assert benchmark.speed("numpy", ("attention_weights",)).cases > 10 * alone.cases


def test_shares_are_those_of_the_time_inside_calls(benchmark: ModuleType) -> None:
    class Slow:
        framework = "numpy"

        def softmax(self, x: np.ndarray) -> np.ndarray:
            time.sleep(0.01)
            return reference.softmax(x).astype(x.dtype)

    shares = benchmark.Shares()
    with shares.measured():
        check(Slow(), operations=("softmax",), tier="quick", diagnosis=False)
    assert shares.share("tested") > 0.5
    assert 0 < shares.share("reference") < 1 - shares.share("tested")


def test_laws_are_put_to_cases_of_a_length_while_that_is_wanted(benchmark: ModuleType) -> None:
    lengths = set()

    def attention(query: np.ndarray, key: np.ndarray, value: np.ndarray) -> np.ndarray:
        lengths.add(query.shape[2])
        return reference.scaled_dot_product_attention(query, key, value).astype(query.dtype)

    with benchmark.laws_at(100) as chosen:
        assert "attention.single_key" not in chosen, "it needs one key"
        report = check(SimpleNamespace(scaled_dot_product_attention=attention), tier="quick", diagnosis=False)
    assert {result.law.id for result in report.results} == set(chosen)
    assert 100 in lengths
    assert not lengths & {16, 17, 64, 65}, "the usual sizes"
    assert runner.laws is laws


@pytest.mark.parametrize("ratio", (19.0, 21.0))
def test_the_exit_status_says_whether_the_ratio_is_reached(
    benchmark: ModuleType, monkeypatch: pytest.MonkeyPatch, ratio: float
) -> None:
    monkeypatch.setattr("sys.argv", ["throughput.py"])
    monkeypatch.setattr(benchmark, "throughput", lambda runs: (["a table"], ratio))
    monkeypatch.setattr(benchmark, "shares", lambda: (["another"], 0.6))
    monkeypatch.setattr(benchmark, "growth", lambda: ["a third"])
    assert benchmark.main() == (0 if ratio > 20 else 1)
