"""A budget ends the search for what functions are: what was not found out by then is named, and held against nobody."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from veriformer.adapters.errors import LoadError
from veriformer.adapters.isolation.limits import ProcessLimits
from veriformer.adapters.isolation.loading import load_within
from veriformer.adapters.loading import load, load_again
from veriformer.adapters.matching import trying
from veriformer.adapters.matching.looking import BudgetSpent, looking_for

SLOW = """
import time
import numpy as np

def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)

def attention(q, k, v):
    time.sleep(0.3)
    return softmax(q @ np.swapaxes(k, -1, -2)) @ v
"""
WHY = "the budget of 1 s was spent before its operation was known"


def attention(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    weights = np.exp(q @ np.swapaxes(k, -1, -2) / q.shape[-1] ** 0.5)
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True) @ v)


def softmax(x: np.ndarray) -> np.ndarray:
    raised = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=-1, keepdims=True))


@pytest.mark.parametrize("limits", (None, ProcessLimits()))
def test_what_was_found_by_then_is_judged(tmp_path: Path, limits: ProcessLimits | None) -> None:
    path = tmp_path / "mine.py"
    path.write_text(SLOW, encoding="utf-8")
    found = load_within(str(path), limits, looking=1.0)
    try:
        assert set(found.operations) >= {"softmax"}
        assert not {"attention", "scaled_dot_product_attention"}.intersection(found.taken_as)
        assert found.not_judged == {"attention": WHY}
    finally:
        found.close()


def test_nothing_is_looked_at_when_the_time_is_over() -> None:
    with looking_for(1e-9):
        time.sleep(1e-6)
        with pytest.raises(LoadError, match="the budget of 1e-09 s was spent"):
            load({"attention": attention})
    # The end belongs to that search alone.
    assert load({"attention": attention}).taken_as == {"attention": "scaled_dot_product_attention"}


def test_a_copy_is_found_out_again_whatever_it_takes(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(SLOW.replace("0.3", "0.0"), encoding="utf-8")
    found = load_within(str(path), ProcessLimits(), looking=60.0)
    other = load_again(found)
    try:
        x = np.zeros((1, 1, 2))
        assert other.residence is not None
        assert set(other.operations) == set(found.operations)
        assert np.allclose(np.asarray(load(str(path)).operations["softmax"](x)), 0.5)
    finally:
        found.close()
        other.close()


# The time may be over at any call: while the mask, the weights that it returns, or fewer heads of keys are tried.
def test_the_search_may_end_at_any_call(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = whole = 0
    while not whole:
        left = iter(range(ended))

        def spend(left: Iterator[int] = left) -> None:
            if next(left, None) is None:
                raise BudgetSpent(WHY)

        monkeypatch.setattr(trying, "refuse_if_spent", spend)
        # Where nothing was known, that is said.
        with suppress(LoadError):
            whole = len(load({"attention": attention, "softmax": softmax}).taken_as) == 2
        ended += 1
    assert ended > 5
