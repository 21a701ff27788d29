from __future__ import annotations

import numpy as np
import pytest
from veriformer.reference import masked_softmax, softmax


@pytest.mark.parametrize("spread", [1.0, 30.0, 1e3, 1e5])
@pytest.mark.parametrize("n", [1, 2, 7, 31])
def test_exact(exact, rounding, spread, n):
    x = np.random.default_rng(n).normal(size=(3, n)) * spread
    expected = np.array([exact.softmax(row) for row in x], dtype=object)
    distance = np.abs(x - x.max(axis=-1, keepdims=True))
    # One rounding of x − max, 2 u for exp, both again in the denominator, n u for its sum, one division.
    relative = 1.01 * (distance + distance.max(axis=-1, keepdims=True) + 2 * 2 + n + 1) * rounding.unit
    bound = relative * expected.astype(float) + rounding.smallest
    exact.assert_within(softmax(x), expected, bound, 1e-10)


def test_logits_far_beyond_the_range_of_exp():
    np.testing.assert_array_equal(softmax(np.array([1e300, 1e300, -1e300])), [0.5, 0.5, 0.0])
    np.testing.assert_array_equal(softmax(np.array([-1e300, -1e300])), [0.5, 0.5])


@pytest.mark.parametrize(("row", "weights"), [([1e308, -1e308], [1, 0]), ([-1e308, 1e308, 1e308], [0, 0.5, 0.5])])
def test_logits_at_the_end_of_the_range_do_not_overflow(row, weights):
    with np.errstate(over="raise", invalid="raise"):
        np.testing.assert_array_equal(softmax(np.array(row)), weights)
        hidden, visible = np.array([*row, np.nan]), np.arange(len(row) + 1) < len(row)
        np.testing.assert_array_equal(masked_softmax(hidden, visible), [*weights, 0])


def test_minus_infinity_gets_no_weight():
    np.testing.assert_array_equal(softmax(np.array([0.0, -np.inf, 0.0])), [0.5, 0.0, 0.5])


@pytest.mark.parametrize("row", [[np.nan, 0.0], [np.inf, 0.0], [-np.inf, -np.inf]])
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_rows_without_a_softmax_are_nan(row):
    assert np.isnan(softmax(np.array(row))).all()


def test_no_entries():
    assert softmax(np.zeros((2, 0))).shape == (2, 0)


def test_masked_is_softmax_of_what_is_visible():
    x = np.random.default_rng(1).normal(size=(4, 9))
    visible = np.random.default_rng(2).random((4, 9)) < 0.6
    weights = masked_softmax(x, visible)
    for row, seen, got in zip(x, visible, weights, strict=True):
        np.testing.assert_allclose(got[seen], softmax(row[seen]), rtol=1e-15)
        assert not got[~seen].any()


@pytest.mark.parametrize("garbage", [np.nan, np.inf, -np.inf, 1e308])
def test_hidden_entries_change_no_bit(garbage):
    x = np.random.default_rng(3).normal(size=(2, 5))
    visible = np.array([[True, False, True, True, False], [False, False, True, False, False]])
    np.testing.assert_array_equal(masked_softmax(np.where(visible, x, garbage), visible), masked_softmax(x, visible))


@pytest.mark.parametrize(("empty_row", "weight"), [("zeros", 0.0), ("nan", np.nan), ("mean_of_values", 1 / 3)])
def test_empty_row(empty_row, weight):
    visible = np.array([[False, False, False], [True, False, False]])
    weights = masked_softmax(np.full((2, 3), np.nan), visible & False, empty_row)
    np.testing.assert_array_equal(weights, np.full((2, 3), weight))
    np.testing.assert_array_equal(masked_softmax(np.zeros((2, 3)), visible, empty_row)[1], [1.0, 0.0, 0.0])
