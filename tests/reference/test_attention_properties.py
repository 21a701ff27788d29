"""What must hold of attention whatever the numbers are."""

from __future__ import annotations

import numpy as np
import pytest
from veriformer.reference import (
    attention_weights,
    grouped_query_attention,
    scaled_dot_product_attention,
    weighted_sum,
)

pytestmark = pytest.mark.filterwarnings("error")


@pytest.fixture
def arrays():
    rng = np.random.default_rng(0)
    return rng.normal(size=(2, 3, 4, 5)), rng.normal(size=(2, 3, 7, 5)), rng.normal(size=(2, 3, 7, 2))


@pytest.fixture
def mask():
    chosen = np.random.default_rng(1).random((2, 3, 1, 7)) < 0.6
    chosen[..., 0] = True
    return chosen


@pytest.mark.parametrize("garbage", [np.nan, np.inf, -np.inf, 1e308])
def test_hidden_keys_and_values_change_no_bit(arrays, mask, garbage):
    query, key, value = arrays
    hidden = ~mask[:, :, 0, :, None]
    output = scaled_dot_product_attention(
        query, np.where(hidden, garbage, key), np.where(hidden, garbage, value), mask=mask
    )
    np.testing.assert_array_equal(output, scaled_dot_product_attention(query, key, value, mask=mask))


@pytest.mark.parametrize("garbage", [np.nan, np.inf])
def test_hiding_by_bias_hides_garbage_too(arrays, mask, garbage):
    query, key, value = arrays
    bias = np.where(mask, 0.0, -np.inf)
    hidden = ~mask[:, :, 0, :, None]
    spoiled = scaled_dot_product_attention(
        query, np.where(hidden, garbage, key), np.where(hidden, garbage, value), bias=bias
    )
    np.testing.assert_array_equal(spoiled, scaled_dot_product_attention(query, key, value, mask=mask))


@pytest.mark.parametrize("garbage", [np.nan, np.inf])
def test_a_value_reaches_only_the_queries_that_see_it(arrays, garbage):
    query, key, value = arrays
    value = value.copy()
    value[:, :, 2] = garbage
    output = scaled_dot_product_attention(query, key, value, is_causal=True)
    assert np.isfinite(output[:, :, :2]).all()
    np.testing.assert_array_equal(output[:, :, 2:], np.full_like(output[:, :, 2:], garbage))


def test_infinities_add_up_as_they_should():
    weights = np.full((1, 1, 1, 2), 0.5)
    included = np.ones_like(weights, dtype=bool)
    for value, expected in [([np.inf, 1.0], np.inf), ([-np.inf, 1.0], -np.inf), ([np.inf, -np.inf], np.nan)]:
        np.testing.assert_array_equal(
            weighted_sum(weights, np.array(value).reshape(1, 1, 2, 1), included), [[[[expected]]]]
        )


@pytest.mark.parametrize("size", [1e3, 1e8, 1e150])
def test_enormous_logits_stay_finite(arrays, size):
    query, key, value = arrays
    output = scaled_dot_product_attention(query * size, key * size, value)
    best = np.argmax(query @ key.swapaxes(-1, -2), axis=-1)
    np.testing.assert_allclose(output, np.take_along_axis(value, best[..., None], axis=2), rtol=1e-12)


@pytest.mark.parametrize("bias", [1e5, -1e5])
def test_a_constant_bias_of_any_size_changes_little(arrays, bias):
    output = scaled_dot_product_attention(*arrays, bias=np.full((4, 7), bias))
    # Two roundings of logits of that size, in numerator and denominator.
    np.testing.assert_allclose(output, scaled_dot_product_attention(*arrays), atol=8 * 1e5 * 2.0**-53 * 4)


@pytest.mark.parametrize(
    ("empty_row", "expected"), [("zeros", lambda v: 0.0 * v[:, :, 0]), ("nan", lambda v: np.nan * v[:, :, 0])]
)
@pytest.mark.parametrize("hidden_by", ["mask", "bias", "causal"])
def test_empty_rows(arrays, empty_row, expected, hidden_by):
    query, key, value = arrays
    row = 0
    options = {
        "mask": {"mask": (np.arange(4) != row)[:, None] & np.ones(7, dtype=bool)},
        "bias": {"bias": np.where(np.arange(4) == row, -np.inf, 0.0)[:, None] * np.ones(7)},
        "causal": {"is_causal": True, "causal_alignment": "bottom_right"},
    }[hidden_by]
    if hidden_by == "causal":
        key, value = key[:, :, :3], value[:, :, :3]
    with np.errstate(invalid="ignore"):
        output = scaled_dot_product_attention(query, key, value, empty_row=empty_row, **options)
    np.testing.assert_array_equal(output[:, :, row], expected(value))
    assert np.isfinite(output[:, :, 1:]).all()


def test_the_mean_of_an_empty_row_is_over_masked_values_too(arrays):
    query, key, value = arrays
    output = scaled_dot_product_attention(
        query, key, value, mask=np.zeros((4, 7), dtype=bool), empty_row="mean_of_values"
    )
    mean = np.broadcast_to(value.mean(axis=2, keepdims=True), output.shape)
    np.testing.assert_allclose(output, mean, atol=16 * 2.0**-53)


@pytest.mark.parametrize(("empty_row", "reached"), [("zeros", False), ("mean_of_values", True)])
def test_an_infinite_hidden_value_is_part_of_the_mean_only(arrays, empty_row, reached):
    query, key, value = arrays
    value = value.copy()
    value[:, :, 3] = np.inf
    hides_all = np.zeros((4, 7), dtype=bool)
    output = scaled_dot_product_attention(query, key, value, mask=hides_all, empty_row=empty_row)
    np.testing.assert_array_equal(output, np.full_like(output, np.inf if reached else 0.0))


@pytest.mark.parametrize(("empty_row", "expected"), [("zeros", 0.0), ("nan", np.nan), ("mean_of_values", 0.0)])
def test_no_keys_at_all(arrays, empty_row, expected):
    query, key, value = arrays
    output = scaled_dot_product_attention(query, key[:, :, :0], value[:, :, :0], empty_row=empty_row)
    np.testing.assert_array_equal(output, np.full((2, 3, 4, 2), expected))
    assert attention_weights(query, key[:, :, :0], empty_row=empty_row).shape == (2, 3, 4, 0)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_no_queries_batches_or_heads(arrays, axis):
    def cut(x):
        return np.take(x, [], axis=axis)

    query, key, value = arrays
    query, key, value = (cut(query), key, value) if axis == 2 else (cut(query), cut(key), cut(value))
    assert scaled_dot_product_attention(query, key, value, is_causal=True).shape == (*query.shape[:3], 2)


def test_one_key_is_copied(arrays):
    query, key, value = arrays
    output = scaled_dot_product_attention(query, key[:, :, :1], value[:, :, :1])
    np.testing.assert_array_equal(output, np.broadcast_to(value[:, :, :1], output.shape))


def test_values_of_width_zero(arrays):
    query, key, value = arrays
    assert scaled_dot_product_attention(query, key, value[..., :0]).shape == (2, 3, 4, 0)


def test_weights_are_distributions_over_the_visible_keys(arrays, mask):
    query, key, _ = arrays
    weights = attention_weights(query, key, mask=mask)
    np.testing.assert_allclose(weights.sum(axis=-1), 1.0, atol=16 * 2.0**-53)
    assert not weights[~np.broadcast_to(mask, weights.shape)].any()
    assert (weights >= 0).all()


def test_output_is_the_weighted_sum(arrays, mask):
    query, key, value = arrays
    options = {"mask": mask, "is_causal": True, "scale": 0.3, "bias": np.linspace(-1, 1, 28).reshape(4, 7)}
    np.testing.assert_array_equal(
        scaled_dot_product_attention(query, key, value, **options),
        attention_weights(query, key, **options) @ value,
    )


def test_as_many_groups_as_heads_is_plain_attention(arrays, mask):
    np.testing.assert_array_equal(
        grouped_query_attention(*arrays, mask=mask), scaled_dot_product_attention(*arrays, mask=mask)
    )
