"""The error bounds of soft caps, sinks and merging: no correct program exceeds them, and small defects do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from veriformer.conformance_tests.core.subject import standard_conventions
from veriformer.conformance_tests.drawing.space import EVERY_PALETTE
from veriformer.conformance_tests.drawing.values import round_to_dtype
from veriformer.conformance_tests.operations.attention.case import AttentionCase
from veriformer.conformance_tests.operations.attention.inputs import AttentionInputs
from veriformer.conformance_tests.operations.merging.cases import MergeCase
from veriformer.conformance_tests.operations.merging.inputs import MergeInputs

Array = np.ndarray
Store = Callable[[Array], Array]
Merge = Callable[[MergeInputs, Store], tuple[Array, Array]]
CONVENTIONS = standard_conventions()
DTYPES = ("float32", "float64", "bfloat16", "float16")
SHAPES = ((3, 5, 7, 4, 3), (2, 9, 33, 16, 4), (4, 3, 1, 1, 2))


def storing(dtype: str) -> Store:
    """Return what keeps an intermediate result in the dtype, for computing on in float32 or float64."""
    if dtype in ("float32", "float64"):
        return lambda array: np.asarray(array).astype(dtype)
    return lambda array: round_to_dtype(np.asarray(array).astype(np.float64), dtype).astype(np.float32)


def attend(inputs: AttentionInputs, store: Store) -> Array:
    """Compute the formula, or the weights alone, each step stored, with the sink as a column of logits."""
    query, key = store(inputs.query), store(inputs.key)
    logits = store(store(query @ key.swapaxes(-1, -2)) * store(np.asarray(query.shape[-1] ** -0.5)))
    if inputs.softcap:
        logits = store(inputs.softcap * store(np.tanh(store(logits / inputs.softcap))))
    if inputs.sinks is not None:
        column = np.broadcast_to(store(inputs.sinks)[:, None, None], (*logits.shape[:-1], 1))
        logits = np.concatenate([logits, column], axis=-1)
    exponentials = store(np.exp(store(logits - logits.max(axis=-1, keepdims=True))))
    weights = store(exponentials / store(exponentials.sum(axis=-1, keepdims=True)))
    weights = weights[..., : key.shape[2]]
    return weights if inputs.value is None else store(weights @ store(inputs.value))


def attentions(dtype: str, **options: Any) -> list[AttentionInputs]:
    """Return attentions of every palette, at small and large logits."""
    drawn = []
    for seed, (palette, amplitude, shape) in enumerate(product(EVERY_PALETTE, (1, 4, 8), SHAPES)):
        heads, queries, keys, width, value_width = shape
        sizes = (2, heads, heads, queries, keys, width, value_width)
        case = AttentionCase(*sizes, dtype, palette, amplitude, seed=seed, **options)
        drawn.append(AttentionInputs.draw("scaled_dot_product_attention", case))
    return drawn


def excess(inputs: Any, output: Array) -> Array:
    """Return the error of each entry as a fraction of what is allowed."""
    expected = inputs.expected(CONVENTIONS)
    with np.errstate(invalid="ignore", divide="ignore"):
        error = np.abs(output.astype(np.float64) - expected.value)
        same = (output == expected.value) | (error == 0)
        return np.where(same, 0.0, error / expected.allowed)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "options", ({"softcap": 0.5}, {"softcap": 5.0}, {"sinks": True}, {"softcap": 2.0, "sinks": True})
)
def test_no_correct_attention_is_accused(dtype: str, options: dict[str, Any]) -> None:
    store = storing(dtype)
    with np.errstate(over="ignore", under="ignore"):
        assert max(excess(given, attend(given, store)).max() for given in attentions(dtype, **options)) <= 1.0


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("options", [{"sinks": True}, {"softcap": 2.0, "sinks": True}, {"softcap": 2.0}])
def test_no_correct_weights_are_accused(dtype: str, options: dict[str, Any]) -> None:
    store = storing(dtype)
    given = [replace(one, operation="attention_weights", value=None) for one in attentions(dtype, **options)]
    largest = [excess(one, attend(one, store)).max() for one in given]
    assert max(largest) <= 1.0
    assert max(largest) > 0.05 or dtype == "float64"


def test_what_is_allowed_is_not_far_from_what_happens() -> None:
    fractions = np.concatenate(
        [
            excess(given, attend(given, storing("float32"))).ravel()
            for given in attentions("float32", softcap=2.0, sinks=True)
        ]
    )
    assert fractions.max() > 0.04


def ordinary(**options: Any) -> list[AttentionInputs]:
    """Return attentions of 5 queries and 7 keys, from normal values, in float32."""
    cases = (AttentionCase(2, 3, 3, 5, 7, 4, 3, "float32", "normal", seed=seed, **options) for seed in range(30))
    return [AttentionInputs.draw("scaled_dot_product_attention", case) for case in cases]


def detected(given: AttentionInputs, **defect: Any) -> bool:
    """Return whether a program with another cap or other sinks is out of bounds."""
    return bool((excess(given, attend(replace(given, **defect), storing("float32"))) > 1.0).any())


@pytest.mark.parametrize("softcap", (2.0002, None))
def test_a_cap_that_is_slightly_off_or_ignored_is_detected(softcap: float | None) -> None:
    assert np.mean([detected(given, softcap=softcap) for given in ordinary(softcap=2.0)]) == 1.0


def test_a_sink_that_is_slightly_off_is_detected() -> None:
    assert np.mean([detected(given, sinks=np.asarray(given.sinks) + 1e-4) for given in ordinary(sinks=True)]) == 1.0


def test_a_saturated_cap_forgives_no_error_of_the_logits() -> None:
    """Where the cap is flat, wrong logits move nothing: the bound must not grow with them."""
    case = AttentionCase(1, 1, 1, 3, 5, 4, 2, "float32", "normal", 4, softcap=0.5, seed=3)
    given = AttentionInputs.draw("scaled_dot_product_attention", case)
    far = replace(given, query=2.0**20 * given.query)
    assert far.expected(CONVENTIONS).allowed.max() < 20 * given.expected(CONVENTIONS).allowed.max()


def by_maximum(inputs: MergeInputs, store: Store) -> tuple[Array, Array]:
    """Weights relative to the larger logarithm, divided by their sum."""
    a, b, first, second = (store(part) for part in (inputs.lse_a, inputs.lse_b, inputs.output_a, inputs.output_b))
    highest = np.maximum(a, b)
    weight_a, weight_b = (store(np.exp(store(lse - highest))) for lse in (a, b))
    total = store(weight_a + weight_b)
    summed = store(store(weight_a[..., None] * first) + store(weight_b[..., None] * second))
    return store(summed / total[..., None]), store(highest + store(np.log(total)))


def by_logarithm(inputs: MergeInputs, store: Store) -> tuple[Array, Array]:
    """Shares as exponentials of what is missing to the result's logarithm."""
    a, b, first, second = (store(part) for part in (inputs.lse_a, inputs.lse_b, inputs.output_a, inputs.output_b))
    lse = store(np.logaddexp(a, b))
    share_a, share_b = (store(np.exp(store(part - lse)))[..., None] for part in (a, b))
    return store(store(share_a * first) + store(share_b * second)), lse


def by_sigmoid(inputs: MergeInputs, store: Store) -> tuple[Array, Array]:
    """The form of ring attention: o_a − σ(b − a) (o_a − o_b), a − ln σ(a − b)."""
    a, b, first, second = (store(part) for part in (inputs.lse_a, inputs.lse_b, inputs.output_a, inputs.output_b))
    share = store(1.0 / store(1.0 + store(np.exp(store(a - b)))))
    output = store(first - store(share[..., None] * store(first - second)))
    return output, store(a + store(np.logaddexp(0.0, store(b - a))))


def by_powers_of_two(inputs: MergeInputs, store: Store) -> tuple[Array, Array]:
    """Differences are taken to base 2."""
    a, b, first, second = (store(part) for part in (inputs.lse_a, inputs.lse_b, inputs.output_a, inputs.output_b))
    highest, factor = np.maximum(a, b), store(np.asarray(np.log2(np.e)))
    weight_a, weight_b = (store(np.exp2(store(store(lse - highest) * factor))) for lse in (a, b))
    total = store(weight_a + weight_b)
    shares = (store(weight / total)[..., None] for weight in (weight_a, weight_b))
    output = store(sum(store(share * part) for share, part in zip(shares, (first, second), strict=True)))
    return output, store(highest + store(store(np.log2(total)) * store(np.asarray(np.log(2.0)))))


def merges(dtype: str) -> list[MergeInputs]:
    """Return parts of attentions of every palette, with near and with distant logarithms."""
    cases = (
        MergeCase(3, 4, 5, keys, 4, dtype, palette, amplitude, seed=seed)
        for seed, (palette, amplitude, keys) in enumerate(product(EVERY_PALETTE, (1, 4, 8), (2, 7, 33)))
    )
    return [MergeInputs.draw("merge_attention", case) for case in cases]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("merge", (by_maximum, by_logarithm, by_sigmoid, by_powers_of_two))
def test_no_correct_merge_is_accused(dtype: str, merge: Merge) -> None:
    largest = 0.0
    for inputs in merges(dtype):
        with np.errstate(over="ignore", under="ignore"):
            output, lse = merge(inputs, storing(dtype))
        largest = max(largest, excess(inputs, np.concatenate([output.ravel(), lse.ravel()])).max())
    assert largest <= 1.0


def test_a_logarithm_that_is_slightly_off_is_detected() -> None:
    """One part's logarithm wrong by 1e-4 moves the shares by as much."""
    detected = []
    for inputs in merges("float32"):
        off = replace(inputs, lse_b=inputs.lse_b + 1e-4)
        output, lse = by_maximum(off, storing("float32"))
        detected.append((excess(inputs, np.concatenate([output.ravel(), lse.ravel()])) > 1.0).any())
    assert np.mean(detected) > 0.8
