"""The gradients of grouped attention: a mean for the sum is named, conventions are obeyed, bounds hold."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from veriformer import reference
from veriformer.conformance_tests import check
from veriformer.conformance_tests.core.subject import standard_conventions
from veriformer.conformance_tests.drawing.space import EVERY_PALETTE
from veriformer.conformance_tests.drawing.values import fill, round_to_dtype
from veriformer.conformance_tests.mistakes import planted
from veriformer.conformance_tests.operations.attention_backward.inputs import BackwardInputs

Array = np.ndarray
OPERATION = "grouped_query_attention_backward"
LAWS = ("repeated_heads", "grad_query", "grad_key", "grad_value", "shared_head")
CONVENTIONS = standard_conventions()


def module(text: str) -> SimpleNamespace:
    found: dict[str, Any] = {"__name__": "program"}
    exec(compile(text, "program", "exec"), found)
    return SimpleNamespace(**found)


@pytest.mark.parametrize("framework", ("numpy", "torch", pytest.param("jax", marks=pytest.mark.long)))
def test_keys_that_get_the_mean_over_their_group_are_named(framework: str) -> None:
    """Written by hand, in an autograd.Function, and in a custom_vjp."""
    pytest.importorskip(framework)
    mistake = next(
        one
        for one in planted()
        if one.slug == "gqa_backward_mean_over_group"
        and one.framework == framework
        and "grad_key" in " ".join(one.laws)
    )
    laws = tuple(f"grouped_query_backward.{law}" for law in LAWS)
    report = check(module(mistake.source_text()), laws=laws, tier="quick")
    failed = {result.law.claim.key for result in report.results if result.status == "failed"}
    assert failed == {"repeated_heads", "grad_key", "shared_head"}
    (diagnosis,) = report.diagnoses
    assert diagnosis.suspects[0].mistakes == ("gqa_backward_mean_over_group",)


def tiled(query: Array, key: Array, value: Array, grad_output: Array, **keywords: Any) -> tuple[Array, ...]:
    """Query head h reads key/value head h mod G: heads in another order are heads that repeat each."""
    groups = key.shape[1]
    order = np.arange(query.shape[1]).reshape(-1, groups).T.ravel()
    mask = keywords.get("mask")
    if mask is not None and mask.ndim == 4 and mask.shape[1] > 1:
        keywords["mask"] = mask[:, order]
    found = reference.grouped_query_attention_backward(query[:, order], key, value, grad_output[:, order], **keywords)
    return tuple(part.astype(query.dtype) for part in (found[0][:, np.argsort(order)], *found[1:]))


def test_an_implementation_that_tiles_heads_conforms_if_it_declares_that() -> None:
    def backward(
        query: Array, key: Array, value: Array, grad_output: Array, *, mask: Any = None, is_causal: bool = False
    ) -> tuple[Array, ...]:
        return tiled(query, key, value, grad_output, mask=mask, is_causal=is_causal)

    for declared in ({"kv_grouping": "tile"}, {"kv_grouping": "repeat_each"}):
        program = SimpleNamespace(**{OPERATION: backward}, framework="numpy", conventions=declared)
        report = check(program, operations=(OPERATION,), tier="quick", diagnosis=False)
        failed = {result.law.claim.key for result in report.results if result.status == "failed"}
        assert ("grad_key" in failed) == (declared["kv_grouping"] == "repeat_each")
        assert declared["kv_grouping"] == "repeat_each" or failed == set()


def drawn(dtype: str, seed: int, group: int) -> BackwardInputs:
    generator = np.random.default_rng(seed)
    palette, sizes = EVERY_PALETTE[seed % len(EVERY_PALETTE)], ((5, 7, 4, 3), (33, 4, 2, 2), (3, 40, 8, 1))[seed % 3]
    queries, keys, width, value_width = sizes

    def values(*shape: int) -> Array:
        return round_to_dtype(fill(generator, (2, *shape), palette, 1), dtype)

    return BackwardInputs(
        operation=OPERATION,
        dtype=dtype,
        query=values(2 * group, queries, width),
        key=values(2, keys, width),
        value=values(2, keys, value_width),
        grad_output=values(2 * group, queries, value_width),
    )


def of_heads(inputs: BackwardInputs, store: Callable[[Array], Array]) -> tuple[Array, Array, Array]:
    """The gradients of every query head, each intermediate result stored."""
    group = inputs.group_size
    query, grad_output = store(inputs.query), store(inputs.grad_output)
    key, value = (store(np.repeat(array, group, axis=1)) for array in (inputs.key, inputs.value))
    factor = query.shape[-1] ** -0.5
    logits = store(factor * store(query @ key.swapaxes(-1, -2)))
    exponentials = store(np.exp(store(logits - logits.max(axis=-1, keepdims=True))))
    weights = store(exponentials / store(exponentials.sum(axis=-1, keepdims=True)))
    grad_weights = store(grad_output @ value.swapaxes(-1, -2))
    average = store(store(weights * grad_weights).sum(axis=-1, keepdims=True))
    scaled = store(factor * store(weights * store(grad_weights - average)))
    of_keys = store(scaled.swapaxes(-1, -2) @ query)
    return store(scaled @ key), of_keys, store(weights.swapaxes(-1, -2) @ grad_output)


def added(heads: Array, group: int, store: Callable[[Array], Array]) -> Array:
    """Add the heads of each group one after the other, and store every partial sum."""
    grouped = heads.reshape(heads.shape[0], -1, group, *heads.shape[2:])
    total = grouped[:, :, 0]
    for member in range(1, group):
        total = store(total + grouped[:, :, member])
    return total


def storing(dtype: str) -> Callable[[Array], Array]:
    if dtype in ("float32", "float64"):
        return lambda array: array.astype(dtype)
    return lambda array: round_to_dtype(array.astype(np.float64), dtype).astype(np.float32)


@pytest.mark.parametrize("dtype", ("float64", "float32", "bfloat16", "float16"))
@pytest.mark.parametrize("group", (1, 2, 8))
def test_heads_that_are_rounded_and_added_in_turn_are_within_the_bound(dtype: str, group: int) -> None:
    store, largest = storing(dtype), 0.0
    for seed in range(60):
        inputs = drawn(dtype, seed, group)
        query, *shared = of_heads(inputs, store)
        found = np.concatenate([part.ravel() for part in (query, *(added(part, group, store) for part in shared))])
        expected = inputs.expected(CONVENTIONS)
        largest = max(largest, float((np.abs(found - expected.value) / expected.allowed).max()))
    assert 0.02 < largest < 1.0


@pytest.mark.parametrize(
    ("dtype", "defect"), (("float64", 1e-12), ("float32", 1e-4), ("bfloat16", 0.4), ("float16", 0.1))
)
def test_a_small_part_of_a_mean_for_the_sum_exceeds_the_bound(dtype: str, defect: float) -> None:
    """A share of the difference between sum and mean over two heads is found in every second case or so."""
    found = 0
    for seed in range(30):
        inputs = drawn(dtype, seed, 2)
        expected, part = inputs.expected(CONVENTIONS), inputs.part("grad_value")
        found += bool((defect * np.abs(part(expected.value)) / 2.0 > 2.0 * part(expected.allowed)).any())
    assert found > 10
