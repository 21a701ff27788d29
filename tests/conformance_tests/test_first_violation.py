"""What is told while laws are still tried: the first violation of each operation, and the mistake that it shows."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from veriformer.conformance_tests.core.selection import Selection
from veriformer.conformance_tests.run.checking import run_check
from veriformer.conformance_tests.run.options import RunOptions
from veriformer.conformance_tests.run.pace import Progress
from veriformer.reference import softmax


def right(logits: np.ndarray) -> np.ndarray:
    return softmax(logits).astype(logits.dtype)


def without_the_maximum(logits: np.ndarray) -> np.ndarray:
    raised = np.exp(logits)
    return raised / raised.sum(axis=-1, keepdims=True)


def with_the_wrong_variance(x: np.ndarray, gamma: np.ndarray, beta: np.ndarray, eps: float = 1e-5) -> np.ndarray:
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt(x.var(axis=-1, ddof=min(1, x.shape[-1] - 1), keepdims=True) + eps) * gamma + beta


def told(operations: dict[str, Any], *, at_once: bool = True, diagnosis: bool = True) -> tuple[list[Progress], Any]:
    shown: list[Progress] = []
    selection = Selection(effort="quick")
    options = RunOptions(selection, progress=shown.append, tells_at_once=at_once, diagnosis=diagnosis)
    report = run_check(SimpleNamespace(**operations), options)
    return [progress for progress in shown if progress.found], report


def test_each_wrong_operation_is_told_once_with_its_mistake() -> None:
    found, report = told({"softmax": without_the_maximum, "layer_norm": with_the_wrong_variance})
    assert sorted(progress.found.split(":")[0] for progress in found) == ["layer_norm", "softmax"]
    for progress in found:
        operation, law = progress.found.split()[0].rstrip(":"), progress.found.split()[1]
        (result,) = (one for one in report.results if one.law.id == law)
        assert (result.law.operation.name, result.status) == (operation, "failed")
        assert progress.done < progress.total
    (of_norm,) = (progress for progress in found if progress.found.startswith("layer_norm"))
    (diagnosis,) = (one for one in report.diagnoses if one.operation == "layer_norm")
    assert diagnosis.suspects[0].mistakes[0] in of_norm.found


def test_nothing_is_told_where_it_is_not_asked_for_or_all_is_right() -> None:
    assert told({"softmax": without_the_maximum}, at_once=False)[0] == []
    assert told({"softmax": right})[0] == []


def test_a_mistake_is_named_only_with_a_diagnosis() -> None:
    ((progress,), _) = told({"softmax": without_the_maximum}, diagnosis=False)
    assert "outputs are those of" not in progress.found


@pytest.mark.parametrize(
    "operations",
    [{"softmax": without_the_maximum}, {"layer_norm": with_the_wrong_variance}],
    ids=("softmax", "layer_norm"),
)
def test_the_report_is_the_same_with_and_without(operations: dict[str, Any]) -> None:
    first, second = told(operations)[1], told(operations, at_once=False)[1]
    assert [(one.law.id, one.status) for one in first.results] == [(one.law.id, one.status) for one in second.results]
    assert first.diagnoses == second.diagnoses


def attention(query: np.ndarray, key: np.ndarray, value: np.ndarray, *, mask: Any = None) -> np.ndarray:
    """Softmax over the queries; a program that fails at rows without keys, so that no question settles them."""
    if mask is not None and not np.broadcast_to(mask, (*query.shape[:3], key.shape[2])).any(axis=-1).all():
        raise ValueError("a row has no key")
    logits = query @ np.swapaxes(key, -1, -2) / np.sqrt(query.shape[-1])
    logits = logits if mask is None else np.where(mask, logits, -1e9)
    return np.asarray(softmax(np.swapaxes(logits, -1, -2)).swapaxes(-1, -2) @ value).astype(query.dtype)


def test_a_convention_that_is_not_settled_hides_no_violation_that_every_value_leaves() -> None:
    found, report = told({"scaled_dot_product_attention": attention})
    assert any(finding.unknown for finding in report.findings)
    assert [progress.found.partition(":")[0] for progress in found] == ["scaled_dot_product_attention"]
    assert "softmax_wrong_axis" in found[0].found


def test_what_is_looked_for_after_the_last_law_is_shown() -> None:
    shown: list[Progress] = []
    run_check(
        SimpleNamespace(softmax=without_the_maximum), RunOptions(Selection(effort="quick"), progress=shown.append)
    )
    assert [one.stage for one in shown[-2:]] == ["looking for the smallest cases", "looking for the mistake"]
    assert shown[-1].done == shown[-1].total
