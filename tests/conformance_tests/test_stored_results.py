"""An exact result that is only stored needs no error bound: its own rounding is never more than the bound allows."""

from __future__ import annotations

from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from veriformer.conformance_tests.core.expected import Expected
from veriformer.conformance_tests.core.subject import standard_conventions
from veriformer.conformance_tests.core.trial import Trial
from veriformer.conformance_tests.core.when_needed import bounded, bounded_parts, stored_error
from veriformer.conformance_tests.drawing.limits import Limits
from veriformer.conformance_tests.drawing.values import round_to_dtype
from veriformer.conformance_tests.operations.cases import cases, own_space
from veriformer.conformance_tests.operations.inputs import draw_inputs
from veriformer.conformance_tests.rounding.precision import Precision
from veriformer.spec.operations import OPERATIONS

DTYPES = ("float64", "float32", "bfloat16", "float16")
CASES = 8
ARCHITECTURES = {"encoder": ("bert",), "encoder_decoder": ("vaswani", "bart")}
# Whose expected results have no such floor: exact ones, and those whose bound comes with the result.
WITHOUT = {
    "causal_mask", "padding_mask", "sinusoidal_positions", "alibi_bias", "relative_position_bucket", "softmax",
    "rotary_embedding", "rotary_embedding_backward", "token_embedding", "token_embedding_backward", "cross_entropy",
    "next_token_loss", "next_token_loss_backward", "encoder", "encoder_decoder", "language_model", "decode_step",
    "warmup_cosine_learning_rate", "warmup_inverse_root_learning_rate", "dropout", "dropout_backward",
    "initial_weights",
}  # fmt: skip
JUDGED = [name for name, operation in OPERATIONS.items() if not operation.is_black_box and name not in WITHOUT]


def drawn(operation: str, dtype: str) -> list[Expected]:
    """Return what is expected of some cases of an operation, under eager and fused numerics."""
    known = OPERATIONS[operation]
    features = frozenset(parameter.name for parameter in known.parameters if parameter.requirement == "feature")
    architectures = ARCHITECTURES.get(operation.removesuffix("_backward"), ("gpt", "llama"))
    limits = Limits(operation=operation, dtypes=(dtype,), features=features, architectures=architectures)
    random, choice = Random(1), cases(own_space(operation), limits)
    inputs = [draw_inputs(operation, choice.sample(random)) for _ in range(CASES)]
    conventions = standard_conventions()
    return [one.expected({**conventions, "numerics": way}) for one in inputs for way in ("eager", "fused")]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("operation", JUDGED)
def test_storing_an_exact_result_is_always_allowed(operation: str, dtype: str) -> None:
    with np.errstate(all="ignore"):
        for found in drawn(operation, dtype):
            assert found.floors
            assert (found.floor(0) <= found.allowed * (1.0 + 1e-9))[found.judged].all()


def test_the_stored_result_is_within_it() -> None:
    values = np.concatenate([np.random.default_rng(0).normal(size=1000), [0.0, 1.0, -3.0]])
    for dtype in DTYPES:
        error = np.abs(round_to_dtype(values, dtype) - values)
        assert (error <= stored_error(values, dtype)).all()
        # What the dtype holds may not be moved at all.
        assert (stored_error(np.array([0.0, 1.0, -3.0]), dtype) == 0.0).all()


def test_a_bound_is_computed_when_it_is_needed_and_once() -> None:
    calls = []

    def bound() -> np.ndarray:
        calls.append(1)
        return np.full(3, 1e-3)

    found = bounded(np.ones(3) / 3.0, bound, Precision.of("float32"), "float32")
    assert found.floor(0).max() < 1e-6
    assert not calls
    assert found.floor(1).min() >= 1e-3
    assert found.allowed is found.allowed
    assert len(calls) == 1


@pytest.mark.parametrize("expected_before", [False, True])
def test_a_call_is_judged_by_its_whole_bound_whether_it_was_expected_before_or_not(expected_before: bool) -> None:
    third = np.ones(1) / 3.0
    made = bounded(third, lambda: np.full(1, 1e-3), Precision.of("float32"), "float32")
    inputs: Any = SimpleNamespace(expected=lambda _: made)
    for error, holds in ((1e-4, True), (1e-2, False)):
        trial: Any = Trial(SimpleNamespace(conventions={}), None, inputs)
        if expected_before:
            trial.expected(inputs)
        assert trial.within(third, third + error, lambda bound: bound(inputs)).holds == holds


def test_parts_are_joined_in_order() -> None:
    values = (np.zeros((2, 2)), np.ones(3))
    judged = (np.ones((2, 2), dtype=bool), np.zeros(3, dtype=bool))
    found = bounded_parts(
        values, lambda: (np.full((2, 2), 1.0), np.full(3, 2.0)), Precision.of("float64"), "float64", judged
    )
    assert found.value.tolist() == [0.0] * 4 + [1.0] * 3
    assert found.judged.tolist() == [True] * 4 + [False] * 3
    assert (found.allowed[:4] >= 1.0).all()
    assert (found.allowed[4:] >= 2.0).all()
