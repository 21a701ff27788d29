"""Attention of one head against exact arithmetic, against several heads, and its errors."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from veriformer.reference import (
    MultiHeadWeights,
    SingleHeadWeights,
    multi_head_attention,
    single_head_attention,
)

B, L, E, D, DV = 2, 4, 5, 3, 2


@pytest.fixture
def weights():
    rng = np.random.default_rng(3)
    return SingleHeadWeights(rng.normal(size=(E, D)), rng.normal(size=(E, D)), rng.normal(size=(E, DV)))


@pytest.fixture
def x():
    return np.random.default_rng(4).normal(size=(B, L, E))


@pytest.mark.parametrize("rank", [None, 2, 3])
def test_it_is_the_exact_formula(exact, x, weights, rank):
    rng = np.random.default_rng(5)
    mask = None if rank is None else rng.random((L, L) if rank == 2 else (B, 1, L)) < 0.6
    if mask is not None:
        mask[..., 0] = True
    query, key, value = (exact.project(x, w, None)[:, None] for w in (weights.w_q, weights.w_k, weights.w_v))
    of_heads = mask if mask is None or mask.ndim == 2 else mask[:, None]
    expected = exact.weighted_sum(exact.weights(query, key, mask=of_heads), value)[:, 0].astype(float)
    np.testing.assert_allclose(single_head_attention(x, weights, mask=mask), expected, rtol=0, atol=1e-13)


def test_it_is_one_head_of_several_with_nothing_after_it(x, weights):
    several = MultiHeadWeights(weights.w_q, weights.w_k, weights.w_v, np.eye(DV, E))
    expected = multi_head_attention(x, x, several, num_heads=1)[..., :DV]
    np.testing.assert_allclose(single_head_attention(x, weights), expected, rtol=0, atol=1e-14)


def test_a_position_that_sees_nothing_follows_the_convention(x, weights):
    mask = np.ones((L, L), dtype=bool)
    mask[1] = False
    assert (single_head_attention(x, weights, mask=mask)[:, 1] == 0).all()
    assert np.isnan(single_head_attention(x, weights, mask=mask, empty_row="nan")[:, 1]).all()
    mean = single_head_attention(x, weights, mask=mask, empty_row="mean_of_values")[:, 1]
    np.testing.assert_allclose(mean, (x @ weights.w_v).mean(axis=1), rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"w_q": np.ones((E + 1, D))}, "w_q"),
        ({"w_k": np.ones((E, D + 1))}, "w_k"),
        ({"w_v": np.ones(E)}, "w_v"),
    ],
)
def test_weights_that_do_not_fit_are_named(x, weights, change, sentence):
    with pytest.raises(ValueError, match=sentence):
        single_head_attention(x, SimpleNamespace(**{**vars(weights), **change}))


def test_a_mask_of_another_rank_is_refused(x, weights, shapes_unchecked):
    with pytest.raises(ValueError, match=r"mask has shape \(2, 1, 4, 4\); give \(L, L\), or rank 3"):
        single_head_attention(x, weights, mask=np.ones((B, 1, L, L), dtype=bool))
