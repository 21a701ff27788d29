"""Windows, soft caps and sinks against plain loops over 50-digit numbers, and what they refuse."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from veriformer.reference import (
    attention_weights,
    grouped_query_attention,
    scaled_dot_product_attention,
    soft_cap,
    softmax_beside_sinks,
    window_mask,
    within_window,
)

WINDOWS = ((0, 0), (1, 0), (2, 1), (None, 1), (1, None), (-1, -1), (3, -1), (9, 9))
LENGTHS = ((4, 4), (3, 6), (6, 3), (1, 5), (5, 1), (0, 3), (3, 0))


def seen_by_loop(queries, keys, window, alignment, counting):
    """Say in words of the interface which keys a query may see, one pair at a time."""
    left, right = (math.inf if side in (None, -1) else side for side in window)
    seen = np.zeros((queries, keys), dtype=bool)
    for i in range(queries):
        own = i + keys - queries if alignment == "bottom_right" else i
        for j in range(keys):
            before, after = own - j, j - own
            near_enough = before < left if counting == "exclusive" else before <= left
            seen[i, j] = near_enough and after <= right
    return seen


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("alignment", ("top_left", "bottom_right"))
@pytest.mark.parametrize("counting", ("inclusive", "exclusive"))
def test_window_shows_the_keys_near_the_own_position(lengths, alignment, counting):
    for window in WINDOWS:
        if counting == "exclusive" and window[0] == 0:
            continue
        mask = window_mask(*lengths, window, causal_alignment=alignment, window_counting=counting)
        assert np.array_equal(mask, seen_by_loop(*lengths, window, alignment, counting)), window


def test_a_window_may_be_counted_from_any_positions():
    shown = within_window(np.array([5, 0]), np.array([3, 4, 5, 6]), (1, 0))
    assert shown.tolist() == [[False, True, True, False], [False] * 4]


@pytest.mark.parametrize("window", ((1,), (1, 2, 3), 4, "ab", (1.5, 0), (-2, 0), (True, 0)))
def test_what_is_no_window_is_refused(window, shapes_unchecked):
    with pytest.raises(ValueError, match="window"):
        window_mask(3, 3, window)


def test_exclusive_counting_has_no_window_without_the_own_key(shapes_unchecked):
    with pytest.raises(ValueError, match="at least 1 here"):
        window_mask(3, 3, (0, 0), window_counting="exclusive")
    with pytest.raises(ValueError, match="window_counting must be one of"):
        window_mask(3, 3, (1, 0), window_counting="both")


def drawn(*shape, seed=0):
    return np.random.default_rng(seed + sum(shape)).normal(size=shape)


def exact_attention(query, key, value, *, scale, softcap=None, bias=None, seen=None, sinks=None):
    """Follow the interface's order of steps in 50-digit numbers: scale, cap, bias, mask, softmax with sinks."""
    output = np.zeros((*query.shape[:3], value.shape[-1]))
    for b, h, i in np.ndindex(query.shape[:3]):
        weights = {}
        for j in range(key.shape[2]):
            if seen is not None and not seen[i, j]:
                continue
            pairs = zip(query[b, h, i], key[b, h, j], strict=True)
            logit = scale * sum(mpmath.mpf(q) * mpmath.mpf(k) for q, k in pairs)
            logit = logit if softcap is None else softcap * mpmath.tanh(logit / softcap)
            weights[j] = mpmath.exp(logit + (0 if bias is None else mpmath.mpf(bias[b, h, i, j])))
        total = sum(weights.values(), mpmath.mpf(0)) + (0 if sinks is None else mpmath.exp(mpmath.mpf(sinks[h])))
        for c in range(value.shape[-1]):
            summed = sum((w * mpmath.mpf(value[b, h, j, c]) for j, w in weights.items()), mpmath.mpf(0))
            output[b, h, i, c] = float(summed / total) if total else 0.0
    return output


@pytest.mark.parametrize("softcap", (None, 0.5, 3.0))
@pytest.mark.parametrize("with_sinks", (False, True))
@pytest.mark.parametrize("window", (None, (1, 0), (0, 2)))
def test_all_together_equal_the_formula(softcap, with_sinks, window):
    query, key, value = 2.0 * drawn(1, 2, 5, 3), drawn(1, 2, 4, 3), drawn(1, 2, 4, 2)
    bias, sinks = drawn(1, 2, 5, 4), drawn(2) if with_sinks else None
    mask = np.random.default_rng(5).random((5, 4)) < 0.7
    seen = mask if window is None else mask & seen_by_loop(5, 4, window, "top_left", "inclusive")
    settings = {"softcap": softcap, "bias": bias, "sinks": sinks}
    result = scaled_dot_product_attention(query, key, value, mask=mask, scale=0.7, window=window, **settings)
    expected = exact_attention(query, key, value, scale=mpmath.mpf(0.7), seen=seen, **settings)
    assert np.allclose(result, expected, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("softcap", (None, 0.5))
@pytest.mark.parametrize("with_sinks", (False, True))
@pytest.mark.parametrize("window", (None, (1, 0), (0, 2)))
def test_weights_are_what_unit_vectors_are_averaged_with(softcap, with_sinks, window):
    query, key = 2.0 * drawn(1, 2, 5, 3), drawn(1, 2, 4, 3)
    bias, sinks = drawn(1, 2, 5, 4), drawn(2) if with_sinks else None
    mask = np.random.default_rng(5).random((5, 4)) < 0.7
    seen = mask if window is None else mask & seen_by_loop(5, 4, window, "top_left", "inclusive")
    settings = {"softcap": softcap, "bias": bias, "sinks": sinks}
    result = attention_weights(query, key, mask=mask, scale=0.7, window=window, **settings)
    unit_vectors = np.broadcast_to(np.eye(4), (1, 2, 4, 4))
    expected = exact_attention(query, key, unit_vectors, scale=mpmath.mpf(0.7), seen=seen, **settings)
    assert np.allclose(result, expected, rtol=1e-13, atol=1e-15)
    rows = result.sum(axis=-1)
    assert np.all(rows < 0.999) if with_sinks else np.allclose(rows[rows > 0], 1.0, rtol=1e-14)


def test_grouped_heads_have_sinks_of_their_own():
    query, key, value, sinks = drawn(1, 4, 3, 2), drawn(1, 2, 5, 2), drawn(1, 2, 5, 3), drawn(4)
    settings = {"sinks": sinks, "softcap": 1.5, "window": (1, 1)}
    repeated = scaled_dot_product_attention(query, np.repeat(key, 2, 1), np.repeat(value, 2, 1), **settings)
    assert np.array_equal(grouped_query_attention(query, key, value, **settings), repeated)


@pytest.mark.parametrize("empty_row", ("zeros", "nan", "mean_of_values"))
def test_a_row_with_a_sink_and_no_visible_key_is_zero_whatever_the_convention(empty_row):
    hidden = np.zeros((3, 5), dtype=bool)
    result = scaled_dot_product_attention(
        drawn(1, 2, 3, 2), drawn(1, 2, 5, 2), drawn(1, 2, 5, 3), mask=hidden, sinks=drawn(2), empty_row=empty_row
    )
    assert np.array_equal(result, np.zeros((1, 2, 3, 3)))


def test_nothing_behind_the_mask_or_the_window_reaches_the_output():
    query, key, value = drawn(1, 1, 4, 2), drawn(1, 1, 4, 2), drawn(1, 1, 4, 3)
    clean = scaled_dot_product_attention(query, key, value, window=(1, 0), softcap=2.0, sinks=np.zeros(1))
    key[:, :, 0], value[:, :, 0] = np.nan, np.inf
    poisoned = scaled_dot_product_attention(query, key, value, window=(1, 0), softcap=2.0, sinks=np.zeros(1))
    assert np.array_equal(clean[:, :, 2:], poisoned[:, :, 2:])


def test_soft_cap_saturates_and_none_and_zero_are_off():
    logits = np.array([-1e300, -1.0, 0.0, 1.0, np.inf])
    assert np.array_equal(soft_cap(logits, 0), logits)
    assert np.array_equal(soft_cap(logits, None), logits)
    assert soft_cap(logits, 2.0).tolist() == [-2.0, -2 * math.tanh(0.5), 0.0, 2 * math.tanh(0.5), 2.0]


@pytest.mark.parametrize("softcap", (-1.0, math.inf, math.nan))
def test_what_is_no_cap_is_refused(softcap):
    with pytest.raises(ValueError, match="softcap must be positive"):
        soft_cap(np.ones(3), softcap)


@pytest.mark.parametrize(
    ("sinks", "message"), (((1.0, 2.0, 3.0), "one logit for each of 2"), ((0.0, -np.inf), "finite"))
)
def test_what_is_no_sink_is_refused(sinks, message, shapes_unchecked):
    with pytest.raises(ValueError, match=message):
        softmax_beside_sinks(np.zeros((1, 2, 3, 4)), np.ones((1, 2, 3, 4), dtype=bool), np.array(sinks))
