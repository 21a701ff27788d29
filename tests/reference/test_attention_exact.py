"""Attention against exact arithmetic, under every combination of mask, bias, causality and empty-row convention."""

from __future__ import annotations

import numpy as np
import pytest
from veriformer.reference import (
    attention_weights,
    grouped_query_attention,
    scaled_dot_product_attention,
    visible_keys,
)

B, H, D, DV = 2, 3, 2, 5
MASKS = {
    "none": None,
    "matrix": lambda rng, length, keys: rng.random((length, keys)) < 0.5,
    "per sample": lambda rng, length, keys: rng.random((B, 1, 1, keys)) < 0.4,
    "full": lambda rng, length, keys: rng.random((B, H, length, keys)) < 0.3,
}
BIASES = {
    "none": None,
    "matrix": lambda rng, length, keys: rng.normal(size=(length, keys)),
    "per head": lambda rng, length, keys: rng.normal(size=(1, H, length, keys)),
    "hiding": lambda rng, length, keys: np.where(
        rng.random((B, H, length, keys)) < 0.4, -np.inf, rng.normal(size=(B, H, length, keys))
    ),
}
CAUSAL = [None, "top_left", "bottom_right"]
EMPTY_ROWS = ["zeros", "nan", "mean_of_values"]


def drawn(mask, bias, causal, length, keys, seed):
    rng = np.random.default_rng(seed)
    arrays = (
        rng.normal(size=(B, H, length, D)) * 3,
        rng.normal(size=(B, H, keys, D)) * 3,
        rng.normal(size=(B, H, keys, DV)),
    )
    options = {"mask": MASKS[mask] and MASKS[mask](rng, length, keys), "is_causal": causal is not None}
    options["bias"] = BIASES[bias] and BIASES[bias](rng, length, keys)
    if causal is not None:
        options["causal_alignment"] = causal
    return arrays, options


@pytest.mark.parametrize("empty_row", EMPTY_ROWS)
@pytest.mark.parametrize("causal", CAUSAL)
@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("mask", MASKS)
def test_output_and_weights(exact, rounding, mask, bias, causal, empty_row):
    length, keys = (4, 3) if empty_row == "nan" else (3, 4)
    (query, key, value), options = drawn(mask, bias, causal, length, keys, seed=len(mask + bias))
    weights = exact.weights(query, key, empty_row=empty_row, **options)
    expected = exact.weighted_sum(weights, value)

    relative = rounding.weights(query, key, bias=options["bias"])
    got = attention_weights(query, key, empty_row=empty_row, **options)
    weight_bound = relative * np.nan_to_num(weights.astype(float)) + rounding.smallest
    exact.assert_within(got, weights, weight_bound, 1e-12)

    output = scaled_dot_product_attention(query, key, value, empty_row=empty_row, **options)
    bound = rounding.attention(query, key, value, weights, bias=options["bias"])
    exact.assert_within(output, expected, bound, 1e-12)


@pytest.mark.parametrize("scale", [0.01, 0.3, 1.0, 25.0])
def test_scale(exact, rounding, scale):
    (query, key, value), _ = drawn("none", "none", None, 3, 5, seed=5)
    weights = exact.weights(query, key, scale=scale)
    output = scaled_dot_product_attention(query, key, value, scale=scale)
    bound = rounding.attention(query, key, value, weights, scale=scale)
    exact.assert_within(output, exact.weighted_sum(weights, value), bound, 1e-10)


@pytest.mark.parametrize(("length", "keys"), [(1, 1), (1, 6), (6, 1), (7, 5), (2, 17)])
def test_lengths(exact, rounding, length, keys):
    (query, key, value), options = drawn("matrix", "per head", "bottom_right", length, keys, seed=length)
    weights = exact.weights(query, key, **options)
    bound = rounding.attention(query, key, value, weights, bias=options["bias"])
    output = scaled_dot_product_attention(query, key, value, **options)
    exact.assert_within(output, exact.weighted_sum(weights, value), bound, 1e-12)


def test_the_bound_tells_single_precision_from_double(exact, rounding):
    (query, key, value), _ = drawn("none", "none", None, 3, 5, seed=8)
    weights = exact.weights(query, key)
    bound = rounding.attention(query, key, value, weights)
    rounded = scaled_dot_product_attention(query, key, value).astype(np.float32).astype(np.float64)
    with pytest.raises(AssertionError, match="error"):
        exact.assert_within(rounded, exact.weighted_sum(weights, value), bound, 1e-12)


@pytest.mark.parametrize("causal", CAUSAL)
@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize(("length", "keys"), [(5, 3), (3, 5), (4, 4)])
def test_visible_keys(exact, mask, bias, causal, length, keys):
    _, options = drawn(mask, bias, causal, length, keys, seed=11)
    visible = visible_keys((B, H, length, keys), **options)
    for index, seen in exact.visible((B, H, length, keys), **options).items():
        assert np.flatnonzero(visible[index]).tolist() == seen


@pytest.mark.parametrize("empty_row", EMPTY_ROWS)
@pytest.mark.parametrize(("heads", "groups"), [(6, 2), (6, 3), (4, 1), (3, 3)])
def test_grouped(exact, rounding, heads, groups, empty_row):
    rng = np.random.default_rng(heads + groups)
    query = rng.normal(size=(2, heads, 4, 3))
    key, value = rng.normal(size=(2, groups, 3, 3)), rng.normal(size=(2, groups, 3, 2))
    options = {"mask": rng.random((2, heads, 4, 3)) < 0.6, "bias": rng.normal(size=(1, heads, 4, 3))}
    options |= {"is_causal": True, "causal_alignment": "bottom_right", "empty_row": empty_row, "scale": 0.7}
    read = [h // (heads // groups) for h in range(heads)]
    weights = exact.weights(query, key[:, read], **options)
    expected = exact.weighted_sum(weights, value[:, read])
    bound = rounding.attention(query, key[:, read], value[:, read], weights, bias=options["bias"], scale=0.7)
    exact.assert_within(grouped_query_attention(query, key, value, **options), expected, bound, 1e-12)
