"""What one value is of another is said only where it holds for every number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from veriformer.conformance_tests.ports.hypotheses import Known, explained

_NUMBERS = np.random.default_rng(5)
VALUE, STREAM = _NUMBERS.normal(size=(2, 2, 7, 6))
BIAS, GAIN = _NUMBERS.normal(size=(2, 6))
KNOWN = Known({"stream that the part reads": STREAM}, {"output bias": BIAS, "norm before: gain": GAIN})


def _softmax(x: Any) -> Any:
    return np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True)


_MADE = [
    (VALUE / np.sqrt(6), "scaled"),
    (VALUE.astype(np.float16).astype(np.float64), "rounded"),
    (VALUE - BIAS, "bias"),
    (VALUE + 3 * BIAS, "bias"),
    (VALUE + 1.5, "bias"),
    (VALUE * GAIN, "gain"),
    (VALUE + STREAM, "term"),
    (STREAM, "left out"),
    (np.roll(VALUE, 1, axis=1), "positions moved"),
    (VALUE[:, ::-1], "positions reversed"),
    (VALUE[:, [2, 0, 1, 4, 3, 6, 5]], "positions permuted"),
    (VALUE[::-1], "samples permuted"),
    (np.maximum(VALUE, 0.0), "relu"),
    (_softmax(VALUE), "softmax"),
    (np.log(_softmax(VALUE)), "log_softmax"),
    (VALUE / np.linalg.norm(VALUE, axis=-1, keepdims=True), "l2_norm"),
    (VALUE / np.arange(1.0, 8.0)[:, None], "scaled by position"),
    (VALUE[..., [1, 0, 3, 2, 5, 4]], "components permuted"),
]


@pytest.mark.parametrize(("made", "name"), _MADE)
def test_what_was_done_is_named(made: Any, name: str) -> None:
    found = explained(VALUE, made, KNOWN)
    assert found is not None
    assert found.name == name


@pytest.mark.parametrize(("made", "name"), _MADE)
def test_one_number_that_is_otherwise_refutes_it(made: Any, name: str) -> None:
    changed = np.array(made)
    changed[1, 3, 2] += 0.01
    assert explained(VALUE, changed, KNOWN) is None


def test_the_bias_that_is_missing_is_told() -> None:
    found = explained(VALUE, VALUE - BIAS, KNOWN)
    assert found is not None
    assert found.words == "lacks the output bias, which A adds"


def test_other_numbers_are_nothing_known() -> None:
    assert explained(VALUE, _NUMBERS.normal(size=VALUE.shape), KNOWN) is None
