"""Entries are followed through what moves them, also where many of them are equal."""

from __future__ import annotations

import numpy as np
import pytest
from veriformer.adapters.capture.trace import Kind, Step, Trace, Value
from veriformer.conformance_tests.recognition.flow import Flow
from veriformer.conformance_tests.recognition.tracking import carried, places

SHAPE = (2, 3, 4)


def numbers(*, ties: bool) -> np.ndarray:
    generator = np.random.default_rng(0)
    return generator.integers(0, 3, SHAPE).astype(float) if ties else generator.normal(size=SHAPE)


@pytest.mark.parametrize("ties", (False, True))
@pytest.mark.parametrize("shape", ((6, 4), (2, 12), (24,), (4, 3, 2)))
def test_reshape(shape: tuple[int, ...], ties: bool) -> None:
    array = numbers(ties=ties)
    found = places(array, array.reshape(shape))
    assert found is not None
    assert np.array_equal(found, np.arange(24).reshape(shape))


@pytest.mark.parametrize("ties", (False, True))
@pytest.mark.parametrize("axes", ((0, 2, 1), (1, 0, 2), (2, 1, 0), (1, 2, 0)))
def test_transpose_with_equal_entries(axes: tuple[int, ...], ties: bool) -> None:
    array = numbers(ties=ties)
    found = places(array, array.transpose(axes))
    assert found is not None
    assert np.array_equal(found, np.arange(24).reshape(SHAPE).transpose(axes))


@pytest.mark.parametrize("ties", (False, True))
@pytest.mark.parametrize("cut", (np.s_[:, :2], np.s_[:, :, 1:], np.s_[1:], np.s_[..., :3]))
def test_slice(cut: tuple[slice, ...], ties: bool) -> None:
    array = numbers(ties=ties)
    found = places(array, array[cut])
    assert found is not None
    assert np.array_equal(found, np.arange(24).reshape(SHAPE)[cut])


def test_any_permutation_without_ties() -> None:
    array = numbers(ties=False)
    order = np.random.default_rng(1).permutation(24)
    found = places(array, array.ravel()[order])
    assert found is not None
    assert np.array_equal(found, order)


def test_other_numbers_have_no_place() -> None:
    array = numbers(ties=False)
    other = array.copy()
    other[1, 2, 3] += 1e-9
    assert places(array, other) is None
    assert places(array, other[1]) is None


def flow_of(arrays: list[np.ndarray], kinds: list[tuple[Kind, tuple[int, ...]]], given: int) -> Flow:
    """Return a pass whose first values are given, and each other one made by a step."""
    origins = ["input" if index < given else "step" for index in range(len(arrays))]
    values = tuple(Value(array, origin) for array, origin in zip(arrays, origins, strict=True))  # type: ignore[arg-type]
    steps = tuple(Step("step", kind, operands, (given + place,)) for place, (kind, operands) in enumerate(kinds))
    return Flow(Trace("numpy", "float64", values, steps, tuple(range(given)), (len(arrays) - 1,)))


@pytest.mark.parametrize("sink_first", (False, True))
def test_logits_are_followed_past_a_sink_that_is_joined_to_them(sink_first: bool) -> None:
    logits = np.random.default_rng(2).normal(size=(2, 3, 4))
    sink = np.full((2, 3, 1), 0.5)
    parts = (1, 0) if sink_first else (0, 1)
    joined = np.concatenate([(logits, sink)[part] for part in parts], axis=-1)
    weights = np.exp(joined) / np.exp(joined).sum(-1, keepdims=True)
    block = np.s_[..., 1:] if sink_first else np.s_[..., :-1]
    flow = flow_of(
        [logits, sink, joined, weights, weights[block]],
        [(Kind.REARRANGEMENT, parts), (Kind.OTHER, (2,)), (Kind.REARRANGEMENT, (3,))],
        given=2,
    )
    in_joined = carried(flow, 0, 3)
    assert in_joined is not None
    expected = np.full(joined.shape, -1)
    expected[block] = np.arange(24).reshape(logits.shape)
    assert np.array_equal(in_joined, expected)
    found = carried(flow, 0, 4)
    assert found is not None
    assert np.array_equal(found, np.arange(24).reshape(logits.shape))


def test_the_wrong_end_of_the_weights_is_told_from_the_right_one() -> None:
    logits, sink = np.random.default_rng(3).normal(size=(3, 4)), np.zeros((3, 1))
    joined = np.concatenate([logits, sink], axis=-1)
    flow = flow_of(
        [logits, sink, joined, joined[:, 1:]], [(Kind.REARRANGEMENT, (0, 1)), (Kind.REARRANGEMENT, (2,))], given=2
    )
    found = carried(flow, 0, 3)
    assert found is not None
    assert np.array_equal(found, [[1, 2, 3, -1], [5, 6, 7, -1], [9, 10, 11, -1]])


def test_transposed_through_a_computation() -> None:
    array = numbers(ties=False)
    flow = flow_of(
        [array, array.swapaxes(1, 2), np.exp(array.swapaxes(1, 2))],
        [(Kind.REARRANGEMENT, (0,)), (Kind.OTHER, (1,))],
        given=1,
    )
    found = carried(flow, 0, 2)
    assert found is not None
    assert np.array_equal(found, np.arange(24).reshape(SHAPE).swapaxes(1, 2))


def test_a_sum_over_an_axis_cannot_be_followed() -> None:
    array = numbers(ties=False)
    flow = flow_of([array, array.sum(-1)], [(Kind.OTHER, (0,))], given=1)
    assert carried(flow, 0, 1) is None
