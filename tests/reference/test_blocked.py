"""Attention in blocks equals attention at once, for every option and every size of block."""

from __future__ import annotations

import numpy as np
import pytest
from veriformer.reference import blocked_attention, scaled_dot_product_attention

OPTIONS = (
    {},
    {"is_causal": True},
    {"is_causal": True, "causal_alignment": "bottom_right"},
    {"window": (2, 1)},
    {"window": (1, None), "causal_alignment": "bottom_right"},
    {"window": (2, 0), "window_counting": "exclusive", "is_causal": True},
    {"softcap": 1.5, "scale": 0.7},
)
LENGTHS = ((7, 7), (4, 9), (9, 4), (1, 8), (6, 1), (3, 0))


def drawn(*shape, seed=0):
    return np.random.default_rng(seed + sum(shape)).normal(size=shape)


def inputs(queries, keys):
    return drawn(2, 2, queries, 3), drawn(2, 2, keys, 3, seed=1), drawn(2, 2, keys, 4, seed=2)


def assert_same(arguments, block, **options):
    expected = scaled_dot_product_attention(*arguments, **options)
    result = blocked_attention(*arguments, block=block, **options)
    assert np.allclose(result, expected, rtol=1e-14, atol=1e-15, equal_nan=True)


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_blocks_of_any_size_give_the_whole(lengths, options):
    for block in (1, 3, 16):
        assert_same(inputs(*lengths), block, **options)


@pytest.mark.parametrize("empty_row", ("zeros", "nan", "mean_of_values"))
@pytest.mark.parametrize("shape", ((7, 5), (2, 1, 7, 5), (1, 2, 7, 5), (2, 1, 1, 5), (2, 2, 7, 5)))
def test_masks_and_biases_are_cut_as_they_broadcast(shape, empty_row):
    generator = np.random.default_rng(4)
    mask, bias = generator.random(shape) < 0.4, generator.normal(size=shape)
    bias[..., 0, :] = -np.inf
    assert_same(inputs(7, 5), 2, mask=mask, bias=bias, empty_row=empty_row)


@pytest.mark.parametrize("empty_row", ("zeros", "nan", "mean_of_values"))
def test_a_window_beyond_the_last_key_leaves_empty_rows(empty_row):
    assert_same(inputs(9, 3), 2, window=(1, 0), empty_row=empty_row)


def test_sinks_take_their_share_of_every_block():
    assert_same(inputs(5, 7), 2, sinks=drawn(2), mask=np.tri(5, 7, -1, dtype=bool))


def test_what_is_hidden_reaches_nothing_and_blocks_beyond_it_neither():
    query, key, value = inputs(6, 6)
    clean = blocked_attention(query, key, value, is_causal=True, block=2)
    key[:, :, 3:], value[:, :, 3:] = np.nan, np.inf
    assert np.array_equal(blocked_attention(query, key, value, is_causal=True, block=2)[:, :, :3], clean[:, :, :3])


@pytest.mark.parametrize("block", (0, 1.5, -3))
def test_what_is_no_block_is_refused(block, shapes_unchecked):
    with pytest.raises(ValueError, match="block must be an integer of at least 1"):
        blocked_attention(*inputs(3, 3), block=block)
