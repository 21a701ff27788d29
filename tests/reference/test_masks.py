from __future__ import annotations

import numpy as np
import pytest
from veriformer.reference import causal_mask, padding_mask


@pytest.mark.parametrize(("query_length", "key_length"), [(4, 4), (3, 5), (5, 3), (1, 4), (4, 1), (0, 3), (3, 0)])
def test_causal(query_length, key_length):
    top_left = [[j <= i for j in range(key_length)] for i in range(query_length)]
    offset = key_length - query_length
    bottom_right = [[j <= i + offset for j in range(key_length)] for i in range(query_length)]
    shape = (query_length, key_length)
    np.testing.assert_array_equal(causal_mask(*shape), np.array(top_left, dtype=bool).reshape(shape))
    np.testing.assert_array_equal(
        causal_mask(*shape, "bottom_right"), np.array(bottom_right, dtype=bool).reshape(shape)
    )


@pytest.mark.parametrize(("query_length", "key_length"), [(3, 5), (5, 5), (2, 9)])
def test_bottom_right_shows_the_last_query_every_key(query_length, key_length):
    assert causal_mask(query_length, key_length, "bottom_right")[-1].all()


def test_the_alignments_agree_on_squares():
    np.testing.assert_array_equal(causal_mask(6, 6, "bottom_right"), causal_mask(6, 6, "top_left"))


def test_padding():
    expected = [[False, False, False], [True, False, False], [True, True, True]]
    np.testing.assert_array_equal(padding_mask(np.array([0, 1, 3]), 3), expected)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.int8])
def test_padding_takes_any_integers(dtype):
    np.testing.assert_array_equal(padding_mask(np.array([2], dtype=dtype), 4), [[True, True, False, False]])


def test_no_sequences():
    assert padding_mask(np.zeros(0, dtype=int), 4).shape == (0, 4)
