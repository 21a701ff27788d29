"""Merging parts of an attention against exact arithmetic, and against the attention over all keys."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from veriformer.reference import (
    attention_logits,
    attention_over_part,
    log_sum_exp,
    merge_attention,
    scaled_dot_product_attention,
)


def drawn(*shape, seed=0):
    return np.random.default_rng(seed + sum(shape)).normal(size=shape)


def exact_merge(output_a, lse_a, output_b, lse_b):
    output, lse = np.zeros(output_a.shape), np.zeros(lse_a.shape)
    for place in np.ndindex(lse_a.shape):
        a, b = mpmath.mpf(float(lse_a[place])), mpmath.mpf(float(lse_b[place]))
        total = mpmath.exp(a) + mpmath.exp(b)
        lse[place] = float(mpmath.log(total)) if total else -np.inf
        if total:
            for c, (one, other) in enumerate(zip(output_a[place], output_b[place], strict=True)):
                output[(*place, c)] = float((mpmath.exp(a) * float(one) + mpmath.exp(b) * float(other)) / total)
    return output, lse


@pytest.mark.parametrize("amplitude", (1.0, 30.0, 800.0))
def test_merging_equals_the_formula_in_fifty_digits(amplitude):
    parts = drawn(2, 1, 3, 2), amplitude * drawn(2, 1, 3), drawn(2, 1, 3, 2, seed=1), amplitude * drawn(2, 1, 3, seed=1)
    for result, expected in zip(merge_attention(*parts), exact_merge(*parts), strict=True):
        # Shares are of relative precision u (|a − b| + 3): 1e-12 at 800.
        assert np.allclose(result, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("cut", (0, 1, 4, 7))
def test_parts_before_and_after_any_cut_make_the_whole(cut):
    query, key, value = drawn(2, 2, 3, 4), drawn(2, 2, 7, 4), drawn(2, 2, 7, 5)
    seen = np.random.default_rng(3).random((2, 2, 3, 7)) < 0.6
    logits = attention_logits(query, key)
    parts = [attention_over_part(logits[..., s], seen[..., s], value[:, :, s]) for s in (slice(cut), slice(cut, None))]
    output, lse = merge_attention(*parts[0], *parts[1])
    whole = scaled_dot_product_attention(query, key, value, mask=seen)
    assert np.allclose(output, whole, rtol=1e-14, atol=1e-15)
    assert np.allclose(lse, log_sum_exp(np.where(seen, logits, -np.inf)), rtol=1e-14)


def test_empty_parts_change_nothing_and_two_of_them_are_empty():
    output, lse = drawn(1, 1, 2, 3), drawn(1, 1, 2)
    nothing = np.zeros((1, 1, 2, 3)), np.full((1, 1, 2), -np.inf)
    for first, second in (((output, lse), nothing), (nothing, (output, lse))):
        merged = merge_attention(*first, *second)
        assert np.array_equal(merged[0], output)
        assert np.array_equal(merged[1], lse)
    both = merge_attention(*nothing, *nothing)
    assert np.array_equal(both[0], nothing[0])
    assert np.array_equal(both[1], nothing[1])


def test_values_of_hidden_keys_do_not_reach_a_part():
    value = np.array([[[[1.0], [np.nan]]]])
    output, lse = attention_over_part(np.zeros((1, 1, 1, 2)), np.array([[[[True, False]]]]), value)
    assert (output.item(), lse.item()) == (1.0, 0.0)


@pytest.mark.parametrize("lse", (np.nan, np.inf))
def test_a_logarithm_of_no_sum_makes_nan_in_its_row_alone(lse):
    output, logarithms = drawn(1, 1, 2, 3), np.array([[[0.0, lse]]])
    merged = merge_attention(output, logarithms, output, np.zeros((1, 1, 2)))
    assert np.isnan(merged[0][0, 0]).tolist() == [[False] * 3, [True] * 3]
    assert not np.isnan(merged[1][0, 0, 0])
