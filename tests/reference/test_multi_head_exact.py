"""Multi-head attention against exact arithmetic."""

from __future__ import annotations

from types import SimpleNamespace

import mpmath
import numpy as np
import pytest
from veriformer.reference import MultiHeadWeights, merge_heads, multi_head_attention, split_heads

B, L, S, E = 2, 3, 4, 5


def drawn_weights(rng, heads, groups, d, dv, biased):
    def bias(width):
        return rng.normal(size=width) if biased else None

    return MultiHeadWeights(
        w_q=rng.normal(size=(E, heads * d)),
        w_k=rng.normal(size=(E, groups * d)),
        w_v=rng.normal(size=(E, groups * dv)),
        w_o=rng.normal(size=(heads * dv, E)),
        b_q=bias(heads * d),
        b_k=bias(groups * d),
        b_v=bias(groups * dv),
        b_o=bias(E),
    )


def blocks(x, heads):
    """heads[b, h, i, d] = x[b, i, h·D + d], for numbers of any kind, by loops."""
    width = x.shape[2] // heads
    cut = np.empty((x.shape[0], heads, x.shape[1], width), dtype=x.dtype)
    for b, h, i, d in np.ndindex(cut.shape):
        cut[b, h, i, d] = x[b, i, h * width + d]
    return cut


def magnitude(x, weight, bias):
    return np.abs(x) @ np.abs(weight) + (0.0 if bias is None else np.abs(bias))


def exact_output(exact, x, context, w, heads, groups, **options):
    """Return the exact weights and the exact output."""
    read = [h // (heads // groups) for h in range(heads)]
    query = blocks(exact.project(x, w.w_q, w.b_q), heads)
    key = blocks(exact.project(context, w.w_k, w.b_k), groups)[:, read]
    value = blocks(exact.project(context, w.w_v, w.b_v), groups)[:, read]
    weights = exact.weights(query, key, **options)
    attended = exact.weighted_sum(weights, value)
    merged = np.empty((B, L, heads * attended.shape[3]), dtype=object)
    for b, h, i, d in np.ndindex(attended.shape):
        merged[b, i, h * attended.shape[3] + d] = attended[b, h, i, d]
    return weights, exact.project(merged, w.w_o, w.b_o)


def rounding_bound(rounding, weights, x, context, w, heads, groups):
    """Projection errors, (E + 1) u of the magnitudes, carried through attention and the output projection."""
    read = [h // (heads // groups) for h in range(heads)]
    query = blocks(magnitude(x, w.w_q, w.b_q), heads)
    key = blocks(magnitude(context, w.w_k, w.b_k), groups)[:, read]
    value = blocks(magnitude(context, w.w_v, w.b_v), groups)[:, read]
    inherited = 1.01 * (E + 1) * rounding.unit
    per_head = rounding.attention(query, key, value, weights, inherited=inherited)
    in_heads = np.nan_to_num(weights.astype(float)) @ value
    own = 1.01 * (heads * value.shape[3] + 1) * rounding.unit
    carried = np.concatenate(list((per_head + own * in_heads).swapaxes(0, 1)), axis=-1)
    return magnitude(carried, w.w_o, None if w.b_o is None else own * w.b_o)


@pytest.mark.parametrize("empty_row", ["zeros", "nan", "mean_of_values"])
@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize(("heads", "groups"), [(4, 2), (3, 3), (2, 1)])
def test_exact(exact, rounding, heads, groups, biased, empty_row):
    rng = np.random.default_rng(heads)
    x, context = rng.normal(size=(B, L, E)), rng.normal(size=(B, S, E))
    w = drawn_weights(rng, heads, groups, 2, 3, biased)
    options = {"mask": rng.random((B, heads, L, S)) < 0.5, "is_causal": True, "empty_row": empty_row}
    weights, expected = exact_output(exact, x, context, w, heads, groups, **options)
    bound = rounding_bound(rounding, weights, x, context, w, heads, groups)
    got = multi_head_attention(x, context, w, num_heads=heads, num_kv_heads=groups, **options)
    exact.assert_within(got, expected, bound, 1e-10)


@pytest.mark.parametrize("causal_alignment", ["top_left", "bottom_right"])
def test_key_value_heads_are_as_many_as_query_heads_by_default(exact, rounding, causal_alignment):
    rng = np.random.default_rng(3)
    x, context = rng.normal(size=(B, L, E)), rng.normal(size=(B, S, E))
    w = drawn_weights(rng, 3, 3, 2, 1, biased=True)
    options = {"is_causal": True, "causal_alignment": causal_alignment}
    weights, expected = exact_output(exact, x, context, w, 3, 3, **options)
    got = multi_head_attention(x, context, w, num_heads=3, **options)
    exact.assert_within(got, expected, rounding_bound(rounding, weights, x, context, w, 3, 3), 1e-10)


def test_weights_are_read_by_attribute():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(B, L, E))
    w = drawn_weights(rng, 2, 2, 3, 3, biased=True)
    other = SimpleNamespace(**vars(w))
    np.testing.assert_array_equal(
        multi_head_attention(x, x, other, num_heads=2), multi_head_attention(x, x, w, num_heads=2)
    )


def test_a_query_that_sees_nothing_returns_the_output_bias():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(B, L, E))
    w = drawn_weights(rng, 2, 2, 3, 3, biased=True)
    output = multi_head_attention(x, x, w, num_heads=2, mask=np.zeros((L, L), dtype=bool))
    np.testing.assert_array_equal(output, np.broadcast_to(w.b_o, output.shape))


@pytest.mark.parametrize("garbage", [np.nan, np.inf, 1e308])
def test_a_padded_context_changes_no_bit(garbage):
    rng = np.random.default_rng(6)
    x, context = rng.normal(size=(B, L, E)), rng.normal(size=(B, S, E))
    w = drawn_weights(rng, 4, 2, 3, 2, biased=True)
    real = np.arange(S) < np.array([2, 3])[:, None]
    options = {"num_heads": 4, "num_kv_heads": 2, "mask": real[:, None, None, :]}
    spoiled = np.where(real[:, :, None], context, garbage)
    np.testing.assert_array_equal(
        multi_head_attention(x, spoiled, w, **options), multi_head_attention(x, context, w, **options)
    )


def test_split_heads_takes_consecutive_blocks():
    x = np.random.default_rng(7).normal(size=(2, 3, 8))
    np.testing.assert_array_equal(split_heads(x, 4), blocks(x, 4))


@pytest.mark.parametrize("shape", [(2, 3, 5, 4), (1, 1, 0, 2), (2, 5, 1, 3)])
def test_merge_heads_undoes_split_heads(shape):
    heads = np.random.default_rng(8).normal(size=shape)
    np.testing.assert_array_equal(split_heads(merge_heads(heads), shape[1]), heads)


def test_the_oracle_works_at_fifty_digits():
    assert mpmath.mp.dps == 50
