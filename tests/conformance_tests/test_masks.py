"""Masks show each query at least one key unless empty rows are asked for, in every shape that broadcasts."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
from veriformer.conformance_tests.drawing.case import MaskKind
from veriformer.conformance_tests.operations.attention.case import MASK_KINDS, AttentionCase, MaskShape
from veriformer.conformance_tests.operations.attention.masks import draw_mask

SHAPES = get_args(MaskShape)
KINDS = (*MASK_KINDS, "empty_rows")
SEEDS = range(60)
CASE = AttentionCase(2, 3, 3, 4, 5, 2, 2)


def drawn(case: AttentionCase, seed: int) -> np.ndarray:
    mask = draw_mask(case, np.random.default_rng(seed))
    assert mask is not None
    return mask


def expanded(case: AttentionCase, seed: int) -> np.ndarray:
    """Return the mask of a case as (B, H, L, S)."""
    return np.broadcast_to(drawn(case, seed), (case.batch, case.heads, case.query_length, case.key_length))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", KINDS)
def test_masks_are_boolean_and_have_the_shape_that_the_case_names(kind: MaskKind, shape: MaskShape) -> None:
    mask = drawn(replace(CASE, mask=kind, mask_shape=shape), 0)
    named = {
        "full": (2, 3, 4, 5),
        "shared_by_heads": (2, 1, 4, 5),
        "shared_by_batch": (1, 3, 4, 5),
        "lengths": (4, 5),
        "keys_only": (2, 1, 1, 5),
    }
    assert mask.shape == named[shape]
    assert mask.dtype == np.bool_
    assert expanded(replace(CASE, mask=kind, mask_shape=shape), 0).shape == (2, 3, 4, 5)


@pytest.mark.parametrize("causal", (False, True))
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", MASK_KINDS)
def test_every_query_sees_a_key(kind: MaskKind, shape: MaskShape, causal: bool) -> None:
    case = replace(CASE, mask=kind, mask_shape=shape, is_causal=causal)
    for seed in SEEDS:
        assert expanded(case, seed).any(axis=-1).all()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", MASK_KINDS)
def test_beside_a_causal_flag_key_zero_is_visible(kind: MaskKind, shape: MaskShape) -> None:
    case = replace(CASE, mask=kind, mask_shape=shape, is_causal=True)
    for seed in SEEDS:
        assert expanded(case, seed)[..., 0].all()


@pytest.mark.parametrize("lengths", ((1, 1), (1, 6), (6, 1), (4, 5), (3, 3)))
@pytest.mark.parametrize("shape", SHAPES)
def test_empty_rows_have_one_at_every_draw(shape: MaskShape, lengths: tuple[int, int]) -> None:
    case = replace(CASE, mask="empty_rows", mask_shape=shape, query_length=lengths[0], key_length=lengths[1])
    for seed in SEEDS:
        assert (~expanded(case, seed).any(axis=-1)).any()


def test_empty_rows_stand_beside_rows_that_see_something() -> None:
    case = replace(CASE, mask="empty_rows", query_length=5)
    assert all(expanded(case, seed).any() for seed in SEEDS)


def test_padding_shows_the_first_keys_and_left_padding_the_last() -> None:
    for seed in SEEDS:
        right = expanded(replace(CASE, mask="padding"), seed).astype(int)
        left = expanded(replace(CASE, mask="left_padding"), seed).astype(int)
        assert (np.diff(right, axis=-1) <= 0).all()
        assert (np.diff(left, axis=-1) >= 0).all()


@pytest.mark.parametrize("kind", ("padding", "left_padding"))
def test_padding_lengths_differ_between_samples(kind: MaskKind) -> None:
    case = replace(CASE, mask=kind, mask_shape="keys_only", batch=3)
    counts = [drawn(case, seed).sum(axis=-1).ravel() for seed in SEEDS]
    assert sum(len(set(count)) > 1 for count in counts) > len(SEEDS) // 2


def test_one_visible_shows_exactly_one_key_and_not_always_the_same() -> None:
    masks = np.stack([drawn(replace(CASE, mask="one_visible"), seed) for seed in SEEDS])
    assert (masks.sum(axis=-1) == 1).all()
    assert set(masks.argmax(axis=-1).ravel()) == set(range(CASE.key_length))


def test_random_masks_hide_and_show_every_key() -> None:
    masks = np.stack([drawn(replace(CASE, mask="random"), seed) for seed in SEEDS])
    assert masks.any(axis=0).all()
    assert (~masks).any(axis=0).all()


def test_masks_differ_between_heads_where_they_may() -> None:
    masks = [drawn(replace(CASE, mask="random"), seed) for seed in SEEDS]
    assert any((mask[:, 0] != mask[:, 1]).any() for mask in masks)


def test_a_case_without_a_mask_has_none() -> None:
    assert draw_mask(CASE, np.random.default_rng(0)) is None


def test_kinds_with_empty_rows_are_drawn_only_when_asked_for() -> None:
    assert set(MASK_KINDS) == set(get_args(MaskKind)) - {"none", "empty_rows"}
