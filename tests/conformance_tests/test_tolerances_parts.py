"""The parts that error bounds are made of: normalisers, wrong logits, sums."""

from __future__ import annotations

import math

import numpy as np
import pytest
from veriformer.conformance_tests.operations.softmax.bounds import Disturbed, disturbed, log_normaliser
from veriformer.conformance_tests.rounding.precision import Precision

Array = np.ndarray


def softmax_by_exponentials(logits: Array) -> Array:
    exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def test_the_normaliser_is_that_of_the_visible_keys() -> None:
    logits = np.array([[0.0, np.log(3.0), -np.inf], [1000.0, 1000.0, -2000.0], [-np.inf, -np.inf, -np.inf]])
    np.testing.assert_allclose(log_normaliser(logits), [[np.log(4.0)], [1000.0 + np.log(2.0)], [0.0]])


def test_a_large_error_lifts_a_weight_that_is_nothing() -> None:
    """Two logits 1000 apart, each wrong by up to 600, may stand in either order."""
    softmax = disturbed(np.array([[0.0, -1000.0]]), np.array([[600.0, 600.0]]))
    assert softmax.weights[0, 1] == 0.0
    assert softmax.rise[0, 1] > 1.0
    assert softmax.gain[0, 1] > 1.0


def test_a_small_error_moves_a_weight_in_proportion() -> None:
    softmax = disturbed(np.log(np.array([[0.25, 0.75]])), np.array([[1e-12, 1e-12]]))
    np.testing.assert_allclose(softmax.rise, [[0.25e-12, 0.75e-12]], rtol=1e-9)
    np.testing.assert_allclose(softmax.gain, [[0.5e-12, 1.5e-12]], rtol=1e-9)


def test_small_and_large_errors_are_computed_alike() -> None:
    """A row with a large error elsewhere takes the other way to the same numbers."""
    generator = np.random.default_rng(4)
    logits, error = generator.normal(size=(50, 7)) * 3, generator.random((50, 7)) * 0.9
    logits[:, 2], error[:, 2] = -np.inf, 0.0
    alone = disturbed(logits, error)
    beside = disturbed(np.append(logits, logits[:1], axis=0), np.append(error, np.full((1, 7), 2.0), axis=0))
    for part in ("weights", "gain", "rise", "normaliser"):
        np.testing.assert_allclose(getattr(beside, part)[:-1], getattr(alone, part), rtol=1e-9)


def test_no_softmax_of_wrong_logits_exceeds_what_it_may_become() -> None:
    generator = np.random.default_rng(5)
    logits, error = (
        generator.normal(size=(400, 6)) * 4,
        generator.random((400, 6)) * generator.choice([0.1, 3.0], (400, 1)),
    )
    softmax: Disturbed = disturbed(logits, error)
    signs = generator.choice([-1.0, 1.0], logits.shape)
    for wrong in (logits + signs * error, logits - error + 2 * error * (logits == logits.max(-1, keepdims=True))):
        assert (softmax_by_exponentials(wrong) <= (softmax.weights + softmax.gain) * (1 + 1e-12)).all()


@pytest.mark.parametrize("terms", (1, 8, 64))
def test_short_sums_get_the_worst_case(terms: int) -> None:
    precision = Precision.of("float32")
    assert precision.growth(terms) == pytest.approx(terms * 2.0**-24, rel=1e-4)


def test_long_sums_grow_with_the_root() -> None:
    precision = Precision.of("float32")
    assert precision.growth(400) == pytest.approx(8 * 20 * 2.0**-24, rel=1e-3)


def test_very_long_sums_get_what_equal_terms_need() -> None:
    """One after the other, equal terms are rounded in one direction between two powers of two."""
    length, unit = 2048, 2.0**-24
    equal = np.random.default_rng(0).uniform(1.0, 2.0, 200).astype(np.float32)
    sums = np.cumsum(np.broadcast_to(equal[:, None], (200, length)), axis=1, dtype=np.float32)[:, -1]
    errors = np.abs(sums.astype(np.float64) / (length * equal.astype(np.float64)) - 1.0)
    assert 8 * math.sqrt(length) * unit < errors.max() <= Precision.of("float32").growth(length)


def test_sums_of_sixteen_bits_are_of_float32() -> None:
    assert Precision.of("bfloat16").growth(16) == Precision.of("float32").growth(16)
    assert Precision.of("bfloat16").stored == 2.0**-8
    assert Precision.of("float16").output == 2.0**-11


def test_a_float32_softmax_of_float64_is_of_float32_throughout() -> None:
    mixed, single_precision = Precision.of("float64", "float32"), Precision.of("float32")
    assert (mixed.accumulation, mixed.stored, mixed.tiny) == (
        single_precision.accumulation,
        single_precision.stored,
        single_precision.tiny,
    )
    assert mixed.output == 2.0**-53
    assert Precision.of("float32", "float32") == single_precision
