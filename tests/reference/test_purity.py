"""Inputs are left alone, whatever their precision and memory layout; results are in double precision."""

from __future__ import annotations

import numpy as np
import pytest
from veriformer.reference import (
    FeedForwardWeights,
    GatedFeedForwardWeights,
    MultiHeadWeights,
    attention_weights,
    cross_entropy,
    feed_forward,
    gated_feed_forward,
    gelu,
    grouped_query_attention,
    layer_norm,
    merge_heads,
    multi_head_attention,
    relu,
    rms_norm,
    rotary_embedding,
    scaled_dot_product_attention,
    silu,
    softmax,
    split_heads,
    token_embedding,
)


def drawn(*shape, seed=0):
    return np.random.default_rng(seed + sum(shape)).normal(size=shape)


def weights(dtype=np.float64):
    shapes = [(6, 8), (6, 8), (6, 4), (4, 6), (8,), (8,), (4,), (6,)]
    return [drawn(*shape).astype(dtype) for shape in shapes]


def attend(x, context, *arrays):
    return multi_head_attention(x, context, MultiHeadWeights(*arrays), num_heads=2)


def attend_masked(query, key, value, bias):
    return scaled_dot_product_attention(query, key, value, bias=bias, mask=np.eye(4, 5, dtype=bool), is_causal=True)


def feed(x, *arrays):
    return feed_forward(x, FeedForwardWeights(*arrays), activation="gelu")


def feed_gated(x, *arrays):
    return gated_feed_forward(x, GatedFeedForwardWeights(*arrays), activation="silu")


CALLS = {
    "rms_norm": (lambda x, gamma: rms_norm(x, gamma, eps=1e-5), [drawn(2, 6), drawn(6)]),
    "gelu": (gelu, [drawn(2, 6)]),
    "silu": (silu, [drawn(2, 6)]),
    "relu": (relu, [drawn(2, 6)]),
    "feed_forward": (feed, [drawn(2, 6), drawn(6, 5), drawn(5, 6), drawn(5), drawn(6)]),
    "gated_feed_forward": (feed_gated, [drawn(2, 6), drawn(6, 5), drawn(6, 5, seed=1), drawn(5, 6)]),
    "softmax": (softmax, [drawn(3, 4)]),
    "attention": (attend_masked, [drawn(2, 3, 4, 2), drawn(2, 3, 5, 2), drawn(2, 3, 5, 6), drawn(4, 5)]),
    "weights": (attention_weights, [drawn(2, 3, 4, 2), drawn(2, 3, 5, 2)]),
    "grouped": (grouped_query_attention, [drawn(2, 6, 4, 2), drawn(2, 3, 5, 2), drawn(2, 3, 5, 4)]),
    "multi_head": (attend, [drawn(2, 3, 6), drawn(2, 5, 6), *weights()]),
    "layer_norm": (
        lambda x, gamma, beta: layer_norm(x, gamma, beta, eps=1e-5),
        [drawn(2, 6), drawn(6), drawn(6)],
    ),
    "cross_entropy": (
        lambda logits: cross_entropy(logits, np.array([[0, 3, -1], [2, 2, 1]]), ignore_index=-1, label_smoothing=0.1),
        [drawn(2, 3, 4)],
    ),
    "token_embedding": (lambda table: token_embedding(np.array([[0, 3], [2, 2]]), table), [drawn(4, 6)]),
    "rotary": (lambda x: rotary_embedding(x, np.array([3, 1, 2, 0]), rotary_dim=4), [drawn(2, 3, 4, 6)]),
    "split_heads": (lambda x: split_heads(x, 3), [drawn(2, 4, 6)]),
    "merge_heads": (merge_heads, [drawn(2, 4, 6, 3)]),
}


@pytest.mark.parametrize("name", CALLS)
def test_read_only_inputs_are_enough(name):
    function, arrays = CALLS[name]
    frozen = [array.copy() for array in arrays]
    for array in frozen:
        array.flags.writeable = False
    np.testing.assert_array_equal(function(*frozen), function(*arrays))


@pytest.mark.parametrize("name", CALLS)
def test_a_second_call_gives_the_same_bits(name):
    function, arrays = CALLS[name]
    np.testing.assert_array_equal(function(*arrays), function(*arrays))


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("name", CALLS)
def test_other_precisions_are_converted_first(name, dtype):
    function, arrays = CALLS[name]
    narrow = [array.astype(dtype) for array in arrays]
    output = function(*narrow)
    assert output.dtype == np.float64
    np.testing.assert_array_equal(output, function(*(array.astype(np.float64) for array in narrow)))


@pytest.mark.parametrize("name", CALLS)
def test_strided_views(name):
    function, arrays = CALLS[name]
    spread = [np.repeat(array, 2, axis=-1)[..., ::2] for array in arrays]
    assert not any(array.flags.c_contiguous for array in spread if array.size > 1)
    # Another memory layout may send a product down another path, with another order of summation.
    np.testing.assert_allclose(function(*spread), function(*arrays), rtol=1e-12, atol=1e-14)


def test_a_broadcast_mask_is_left_alone():
    mask = np.broadcast_to(np.array([True, False, True]), (2, 1, 4, 3))
    query, key, value = drawn(2, 3, 4, 2), drawn(2, 3, 3, 2), drawn(2, 3, 3, 2)
    scaled_dot_product_attention(query, key, value, mask=mask, is_causal=True)
    np.testing.assert_array_equal(mask, np.broadcast_to([True, False, True], (2, 1, 4, 3)))


def test_the_output_is_a_new_array():
    x = drawn(2, 4, 6)
    assert layer_norm(x, np.ones(6), np.zeros(6), eps=1e-5) is not x
    for function in (softmax, gelu, silu, relu):
        assert not np.shares_memory(function(x), x)


@pytest.mark.usefixtures("shapes_unchecked")
def test_lists_and_integers_are_converted():
    np.testing.assert_array_equal(softmax([0, 0]), [0.5, 0.5])
    np.testing.assert_array_equal(
        scaled_dot_product_attention([[[[1]]]], [[[[2]]]], [[[[3]]]], mask=[[True]]), [[[[3.0]]]]
    )
