"""Dropout of the reference: exact values, averages over many seeds, and its gradient by torch."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from veriformer.reference import dropout, dropout_backward, dropout_mask, kept_entries

X = np.array([[1.0, -2.0, 3.0], [0.5, 6.0, -9.0]])


def test_each_entry_is_zero_or_the_fraction():
    result = dropout(X, rate=0.25, seed=3)
    exact = [float(Fraction(x) / Fraction(3, 4)) for x in X.ravel()]
    assert {True, False} == set((result != 0.0).ravel())
    np.testing.assert_array_equal(result.ravel(), np.where(result.ravel() == 0.0, 0.0, exact))


def test_evaluation_and_rate_zero_change_nothing():
    np.testing.assert_array_equal(dropout(X, rate=0.5, seed=0, training=False), X)
    np.testing.assert_array_equal(dropout(X, rate=0.0, seed=0), X)
    assert not np.shares_memory(dropout(X, rate=0.5, seed=0, training=False), X)


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.8])
def test_over_many_seeds_the_mean_is_the_entry_and_the_variance_that_of_the_derivation(rate):
    results = np.stack([dropout(X, rate=rate, seed=seed) for seed in range(20_000)])
    variance = X**2 * rate / (1.0 - rate)
    # Six standard deviations of a mean of so many.
    assert (np.abs(results.mean(axis=0) - X) <= 6.0 * np.sqrt(variance / len(results))).all()
    np.testing.assert_allclose(results.var(axis=0), variance, rtol=0.1)


def test_the_seed_decides_which_entries_are_dropped_and_x_does_not():
    first, again, other = (dropout(x, rate=0.5, seed=1) for x in (X, X, 7.0 - X))
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(first == 0.0, other == 0.0)
    masks = {dropout_mask((64,), 0.5, seed).tobytes() for seed in range(100)}
    assert len(masks) == 100


@pytest.mark.parametrize("training", [True, False])
def test_the_gradient_is_that_of_torch_through_the_same_mask(training):
    torch = pytest.importorskip("torch")
    gradient = np.random.default_rng(0).normal(size=X.shape)
    leaf = torch.tensor(X, requires_grad=True)
    mask = torch.tensor(dropout_mask(X.shape, 0.25, 5))
    result = leaf * mask / 0.75 if training else leaf * 1.0
    (expected,) = torch.autograd.grad(result, leaf, torch.tensor(gradient))
    got = dropout_backward(X, gradient, rate=0.25, seed=5, training=training)
    np.testing.assert_allclose(got, expected.numpy(), rtol=1e-15)


def test_what_a_mask_keeps():
    np.testing.assert_array_equal(kept_entries(np.array([3.0, 3.0]), np.array([True, False]), 0.25), [4.0, 0.0])


@pytest.mark.parametrize("rate", [1.0, -0.1, float("nan")])
def test_a_rate_that_is_no_probability_below_one_is_refused(rate):
    with pytest.raises(ValueError, match="rate must be at least 0 and less than 1; got"):
        dropout(X, rate=rate, seed=0)


@pytest.mark.parametrize("seed", [-1, True])
def test_a_seed_that_is_no_integer_from_zero_on_is_refused(seed):
    with pytest.raises(ValueError, match="seed must be an integer of at least 0; got"):
        dropout(X, rate=0.5, seed=seed)
