"""Batches: every sample is a case of its own, and one that breaks a law is taken out."""

from __future__ import annotations

from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from veriformer.conformance_tests import check
from veriformer.conformance_tests.core.law_result import LawResult
from veriformer.conformance_tests.core.subject import standard_conventions
from veriformer.conformance_tests.drawing.batches import (
    TakenOut,
    batched,
    cases_in,
    regime_of,
)
from veriformer.conformance_tests.drawing.case import BatchableCase
from veriformer.conformance_tests.drawing.limits import Limits
from veriformer.conformance_tests.drawing.vectors import VectorCase
from veriformer.conformance_tests.operations.attention.case import AttentionCase
from veriformer.conformance_tests.operations.cases import cases, own_space
from veriformer.conformance_tests.operations.inputs import draw_inputs, has_samples
from veriformer.conformance_tests.operations.laws import laws
from veriformer.conformance_tests.operations.masks.cases import CausalMaskCase
from veriformer.spec.operations import OPERATIONS

Array = np.ndarray
SMALL = AttentionCase(2, 2, 2, 3, 5, 4, 3, seed=3, mask="random")
LOUD = AttentionCase(3, 1, 1, 2, 2, 2, 2, palette="integers", amplitude=4, seed=9, mask="one_visible")


def right_softmax(x: Array) -> Array:
    exponentials = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.asarray(exponentials / exponentials.sum(axis=-1, keepdims=True))


def drawn(operation: str, seed: int) -> list[Any]:
    """Return different cases of an operation, drawn from its own space."""
    features = frozenset(parameter.name for parameter in OPERATIONS[operation].parameters)
    choice = cases(own_space(operation), Limits(operation, ("float32",), features, seed=seed))
    random = Random(seed)
    return [choice.sample(random) for _ in range(12)]


def batchable() -> list[str]:
    """Return the operations of which a call carries many cases."""
    skipped = ("encoder", "encoder_decoder", "language_model", "decode_step", "model")
    names = [name for name in OPERATIONS if name not in skipped and has_samples(name)]
    return [name for name in names if isinstance(drawn(name, 0)[0], BatchableCase)]


def test_each_sample_is_filled_from_its_own_regime() -> None:
    case = batched(SMALL, [SMALL, LOUD])
    assert isinstance(case, AttentionCase)
    assert case.regimes == (regime_of(SMALL), regime_of(LOUD))
    assert cases_in(case) == case.batch >= 20
    given = draw_inputs("scaled_dot_product_attention", case)
    assert set(np.unique(given.query[0::2])) == {0.0, 1.0}
    assert set(np.unique(given.query[1::2])) <= {4.0 * value for value in range(-3, 4)}
    assert set(np.unique(given.value[1::2])) <= set(range(-3, 4)), "values have no amplitude"
    visible = given.mask.sum(axis=-1)
    assert (visible[1::2] == 1).all()
    assert (visible[0::2] > 1).any()


def test_a_sample_with_a_mask_and_one_without_are_never_in_one_call() -> None:
    case = batched(SMALL, [AttentionCase(2, 1, 1, 2, 2, 2, 2), LOUD])
    assert isinstance(case, AttentionCase)
    assert all(regime.mask != "none" for regime in case.regimes)


def test_only_regimes_of_one_dtype_are_mixed() -> None:
    case = batched(VectorCase(2, 2, 3), [VectorCase(2, 2, 2, dtype="float16", palette="normal")])
    assert isinstance(case, VectorCase)
    assert len(case.regimes) == 1


@pytest.mark.parametrize(
    "case",
    (CausalMaskCase(2, 3), VectorCase(1, 2, 3), VectorCase(3, 64, 1024)),
    ids=("nothing is filled", "a single sample", "as large as a call may be"),
)
def test_what_cannot_carry_more_stays_as_it_is(case: Any) -> None:
    assert batched(case, [case]) == case
    assert cases_in(case) == 1


@pytest.mark.parametrize("operation", batchable())
@pytest.mark.parametrize("seed", range(3))
def test_a_sample_that_is_taken_out_is_that_of_the_batch(operation: str, seed: int) -> None:
    found = drawn(operation, seed)
    case = batched(max(found, key=lambda one: one.batch), found)
    assert isinstance(case, BatchableCase)
    whole = draw_inputs(operation, case)
    chosen = (1, case.batch - 1)
    taken = draw_inputs(operation, TakenOut(case, chosen))
    assert [shape[0] for shape in taken.result_shapes] == [2] * len(taken.result_shapes)
    # Whatever a random operation draws, let it be the same for both.
    alike = (given.as_drawn(np.ones(given.result_shape)) for given in (whole, taken))
    every, some = (given.expected(standard_conventions()) for given in alike)
    if every.value.ndim > 1 and len(every.value) == case.batch:
        np.testing.assert_allclose(some.value, every.value[list(chosen)], rtol=1e-12, atol=1e-300)
        np.testing.assert_allclose(some.allowed, every.allowed[list(chosen)], rtol=1e-9, atol=1e-300)


def judged(function: Any, law: str, **settings: Any) -> LawResult:
    operation = laws()[law].statement.operation.name
    (result,) = check(SimpleNamespace(**{operation: function}), laws=(law,), diagnosis=False, **settings).results
    return result


def test_the_sample_that_is_wrong_is_taken_out_of_its_batch() -> None:
    def wrong_beyond_six(x: Array) -> Array:
        return np.where(np.abs(x).max(axis=(1, 2), keepdims=True) > 6, 0.5, right_softmax(x))

    result = judged(wrong_beyond_six, "softmax.value", shrink=False)
    assert result.counterexample is not None
    case = result.counterexample.case
    assert isinstance(case, TakenOut)
    assert len(case.samples) == 1
    assert case.describe().startswith(f"sample {case.samples[0]} of: batch ")
    assert len(result.counterexample.calls[0].arguments["x"]) == 1


def test_a_law_that_needs_two_samples_keeps_another_beside_the_one_that_is_wrong() -> None:
    def first_sample_for_all(query: Array, key: Array, value: Array) -> Array:
        logits = (
            query @ np.broadcast_to(key[:1], key.shape).swapaxes(-1, -2) / np.sqrt(query.dtype.type(query.shape[-1]))
        )
        return np.asarray(right_softmax(logits) @ value)

    result = judged(first_sample_for_all, "attention.batch.permutation", shrink=False)
    assert result.counterexample is not None
    case = result.counterexample.case
    assert isinstance(case, TakenOut)
    assert len(case.samples) >= 2


def test_what_is_wrong_in_large_batches_only_is_told_with_a_large_batch() -> None:
    def wrong_from_sixteen(x: Array) -> Array:
        return right_softmax(x) * np.float32(1.0 if len(x) < 16 else 1.01)

    result = judged(wrong_from_sixteen, "softmax.value")
    assert result.counterexample is not None
    assert len(result.counterexample.calls[0].arguments["x"]) >= 16
    assert len(result.counterexample.calls[0].arguments["x"]) < 32


@pytest.mark.parametrize(
    ("samples", "words"), (((4,), "sample 4"), ((0, 1, 2), "samples 0 to 2"), ((0, 7), "samples 0, 7"))
)
def test_samples_are_named_briefly(samples: tuple[int, ...], words: str) -> None:
    assert TakenOut(SMALL, samples).describe().startswith(f"{words} of: batch 2, heads 2")


def test_an_error_that_one_sample_causes_is_told_with_few_samples() -> None:
    def refuses(x: Array) -> Array:
        if np.abs(x).max() > 6:
            raise ValueError("too large")
        return right_softmax(x)

    result = judged(refuses, "softmax.value", shrink=False)
    assert result.status == "error"
    assert result.counterexample is not None
    assert len(result.counterexample.calls[0].arguments["x"]) == 1


def test_laws_that_are_not_batched_say_so() -> None:
    alone = {identifier.partition(".")[2] for identifier, law in laws().items() if not law.batched}
    # Gradients of a large model are dear, and are no clearer with other values at the same sizes.
    of_large_models = {"scale.faint_key", "gradients.value"}
    # What is counted are the entries of one case.
    of_chance = {"share", "evaluation.training_again", "mask.neighbours", "mask.shared", "seed.other"}
    assert alone == of_large_models | of_chance


def test_a_law_that_is_not_batched_has_a_call_for_every_case() -> None:
    samples = []

    def recording(query: Array, key: Array, value: Array) -> Array:
        samples.append(len(query))
        return right_softmax(query @ key.swapaxes(-1, -2) / np.sqrt(query.dtype.type(query.shape[-1]))) @ value

    result = judged(recording, "attention.scale.faint_key", tier="quick")
    assert result.cases == 8
    assert max(samples[-8:]) <= 3
