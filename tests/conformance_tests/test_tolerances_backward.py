"""The error bound of the gradients of attention: no correct program exceeds it, and small defects do.

The programs are written here, in the orders of operations that hand-written backward passes and automatic
differentiation use; every intermediate result is rounded to the dtype, and matrix products accumulate in float32.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from veriformer.conformance_tests.core.subject import standard_conventions
from veriformer.conformance_tests.drawing.case import Palette
from veriformer.conformance_tests.drawing.space import EVERY_PALETTE
from veriformer.conformance_tests.drawing.values import fill, round_to_dtype
from veriformer.conformance_tests.operations.attention_backward.inputs import OPERATION, BackwardInputs

Array = np.ndarray
Store = Callable[[Array], Array]
Program = Callable[[BackwardInputs, Array, Store], tuple[Array, Array, Array]]
DTYPES = ("float32", "float64", "bfloat16", "float16")
SHAPES = ((6, 5, 7, 4, 3), (6, 3, 1, 1, 2), (4, 2, 65, 16, 4), (4, 33, 4, 2, 8), (2, 4, 300, 8, 2), (4, 7, 2, 1, 1))
CONVENTIONS = standard_conventions()


def drawn(
    generator: np.random.Generator, dtype: str, palette: Palette, amplitude: int, shape: tuple[int, ...]
) -> BackwardInputs:
    heads, queries, keys, width, value_width = shape
    amplitude = min(amplitude, 8) if dtype == "float16" else amplitude

    def values(*sizes: int, amplitude: int = 1) -> Array:
        return round_to_dtype(fill(generator, (2, heads, *sizes), palette, amplitude), dtype)

    mask = generator.random((2, heads, queries, keys)) < 0.7
    mask[..., 0] = True
    return BackwardInputs(
        operation=OPERATION,
        dtype=dtype,
        query=values(queries, width, amplitude=amplitude),
        key=values(keys, width, amplitude=amplitude),
        value=values(keys, value_width),
        grad_output=values(queries, value_width),
        mask=mask if amplitude != 4 else None,
    )


def all_inputs(dtype: str, seed: int = 0) -> Iterator[BackwardInputs]:
    generator = np.random.default_rng(seed)
    for palette, amplitude, shape in product(EVERY_PALETTE, (1, 4, 30), SHAPES):
        yield drawn(generator, dtype, palette, amplitude, shape)


def storing(dtype: str) -> Store:
    if dtype in ("float32", "float64"):
        return lambda array: array.astype(dtype)
    return lambda array: round_to_dtype(array.astype(np.float64), dtype).astype(np.float32)


def arrays(inputs: BackwardInputs, store: Store) -> tuple[Array, ...]:
    return tuple(store(array) for array in (inputs.query, inputs.key, inputs.value, inputs.grad_output))


def turned(array: Array) -> Array:
    return array.swapaxes(-1, -2)


def ending(store: Store, factor: float, grad_logits: Array, query: Array, key: Array) -> tuple[Array, Array]:
    """Apply the scale to the gradients of the logits, as code that scaled the logits does."""
    scaled = store(factor * grad_logits)
    return store(scaled @ key), store(turned(scaled) @ query)


def logits_of(query: Array, key: Array, visible: Array, factor: float, store: Store) -> Array:
    return np.where(visible, store(factor * store(query @ turned(key))), -np.inf)


def textbook(inputs: BackwardInputs, visible: Array, store: Store) -> tuple[Array, Array, Array]:
    """Keep the weights; the row term from weights and their gradients."""
    query, key, value, grad_output = arrays(inputs, store)
    factor = query.shape[-1] ** -0.5
    logits = logits_of(query, key, visible, factor, store)
    exponentials = store(np.exp(store(logits - logits.max(axis=-1, keepdims=True))))
    weights = store(exponentials / store(exponentials.sum(axis=-1, keepdims=True)))
    grad_weights = store(grad_output @ turned(value))
    average = store(store(weights * grad_weights).sum(axis=-1, keepdims=True))
    grad_logits = store(weights * store(grad_weights - average))
    return *ending(store, factor, grad_logits, query, key), store(turned(weights) @ grad_output)


def from_output(inputs: BackwardInputs, visible: Array, store: Store) -> tuple[Array, Array, Array]:
    """Recompute the weights from the log-sum-exp; the row term from the output; the scale on the results."""
    query, key, value, grad_output = arrays(inputs, store)
    factor = query.shape[-1] ** -0.5
    single = storing("float64" if inputs.dtype == "float64" else "float32")
    logits = logits_of(query, key, visible, factor, single)
    highest = logits.max(axis=-1, keepdims=True)
    exponentials = single(np.exp(logits - highest))
    total = exponentials.sum(axis=-1, keepdims=True)
    output = store(store(exponentials) @ value / total)
    weights = single(np.exp(single(logits - single(highest + np.log(total)))))
    average = single((single(grad_output) * single(output)).sum(axis=-1, keepdims=True))
    grad_logits = store(weights * (single(grad_output @ turned(value)) - average))
    grad_query = store(factor * single(grad_logits @ key))
    grad_key = store(factor * single(turned(grad_logits) @ query))
    return grad_query, grad_key, store(turned(store(weights)) @ grad_output)


def quotient(inputs: BackwardInputs, visible: Array, store: Store) -> tuple[Array, Array, Array]:
    """Differentiate x / Σx as a quotient, and the maximum that is subtracted too; the scale as two square roots."""
    query, key, value, grad_output = arrays(inputs, store)
    root = query.shape[-1] ** -0.25
    queries, keys = store(query * root), store(key * root)
    logits = logits_of(queries, keys, visible, 1.0, store)
    shifted = store(logits - logits.max(axis=-1, keepdims=True))
    exponentials = store(np.exp(shifted))
    total = store(exponentials.sum(axis=-1, keepdims=True))
    weights = store(exponentials / total)
    grad_weights = store(grad_output @ turned(value))
    grad_total = store(store(store(grad_weights * exponentials).sum(axis=-1, keepdims=True)) / total)
    grad_total = store(grad_total / total)
    grad_logits = store(store(store(grad_weights / total) - grad_total) * exponentials)
    largest = np.argmax(logits, axis=-1)[..., None] == np.arange(logits.shape[-1])
    beside = store(grad_logits.sum(axis=-1, keepdims=True))
    grad_logits = np.where(largest, store(grad_logits - beside), grad_logits)
    grad_query = store(root * store(grad_logits @ keys))
    grad_key = store(root * store(turned(grad_logits) @ queries))
    return grad_query, grad_key, store(turned(weights) @ grad_output)


def log_sum_exp(inputs: BackwardInputs, visible: Array, store: Store) -> tuple[Array, Array, Array]:
    """Differentiate exp(z − log Σ e^z): the weights are computed again in the derivative of the logarithm."""
    query, key, value, grad_output = arrays(inputs, store)
    factor = query.shape[-1] ** -0.5
    single = storing("float64" if inputs.dtype == "float64" else "float32")
    logits = single(logits_of(query, key, visible, factor, store))
    highest = logits.max(axis=-1, keepdims=True)
    exponentials = single(np.exp(single(logits - highest)))
    total = exponentials.sum(axis=-1, keepdims=True)
    weights = single(np.exp(single(logits - single(highest + single(np.log(total))))))
    grad_weights = single(store(grad_output @ turned(value)))
    direct = single(grad_weights * weights)
    through_the_logarithm = single(direct.sum(axis=-1, keepdims=True) * single(exponentials / total))
    grad_logits = store(single(direct - through_the_logarithm))
    return *ending(store, factor, grad_logits, query, key), store(turned(store(weights)) @ grad_output)


def differentiated(inputs: BackwardInputs, forward: Callable[..., Any]) -> tuple[Array, Array, Array]:
    """Return the gradients that PyTorch derives of a forward pass, in the dtype of the inputs."""
    dtype = getattr(torch, inputs.dtype)
    given = (inputs.query, inputs.key, inputs.value)
    leaves = [torch.tensor(array, dtype=dtype).requires_grad_() for array in given]
    output = forward(*leaves, torch.tensor(inputs.visible(CONVENTIONS)))
    found = torch.autograd.grad(output, leaves, torch.tensor(inputs.grad_output, dtype=dtype))
    return tuple(gradient.double().numpy() for gradient in found)


def in_blocks(inputs: BackwardInputs, visible: Array, store: Store) -> tuple[Array, Array, Array]:
    """Differentiate an online softmax, three keys at a time, the maxima of the blocks too."""

    def forward(query: Any, key: Any, value: Any, seen: Any) -> Any:
        work = torch.promote_types(query.dtype, torch.float32)
        query, key, value = query.to(work) * query.shape[-1] ** -0.5, key.to(work), value.to(work)
        highest = torch.full((*query.shape[:-1], 1), -torch.inf, dtype=work)
        total, output = torch.zeros_like(highest), torch.zeros(*query.shape[:-1], value.shape[-1], dtype=work)
        for start in range(0, key.shape[-2], 3):
            block = slice(start, start + 3)
            logits = (query @ key[..., block, :].mT).masked_fill(~seen[..., block], -torch.inf)
            new = torch.maximum(highest, logits.amax(dim=-1, keepdim=True))
            shift = new.masked_fill(new == -torch.inf, 0.0)
            rescale, part = torch.exp(highest - shift), torch.exp(logits - shift)
            total = total * rescale + part.sum(dim=-1, keepdim=True)
            output = output * rescale + part @ value[..., block, :]
            highest = new
        return (output / total).to(getattr(torch, inputs.dtype))

    return differentiated(inputs, forward)


def through_the_maximum(inputs: BackwardInputs, visible: Array, store: Store) -> tuple[Array, Array, Array]:
    """Differentiate what is stored in the dtype step by step, the maximum that is subtracted too."""

    def forward(query: Any, key: Any, value: Any, seen: Any) -> Any:
        logits = (query @ key.mT * query.shape[-1] ** -0.5).masked_fill(~seen, -torch.inf)
        exponentials = torch.exp(logits - logits.amax(dim=-1, keepdim=True))
        return exponentials / exponentials.sum(dim=-1, keepdim=True) @ value

    return differentiated(inputs, forward)


PROGRAMS: tuple[Program, ...] = (textbook, from_output, quotient, log_sum_exp, in_blocks, through_the_maximum)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
@pytest.mark.parametrize("dtype", DTYPES)
def test_no_correct_program_exceeds_the_bound(dtype: str, program: Program) -> None:
    store, largest = storing(dtype), 0.0
    for inputs in all_inputs(dtype):
        expected = inputs.expected(CONVENTIONS)
        found = program(inputs, inputs.visible(CONVENTIONS), store)
        received = np.concatenate([part.ravel() for part in found]).astype(np.float64)
        ratio = np.abs(received - expected.value) / expected.allowed
        assert np.isfinite(received).all()
        largest = max(largest, float(ratio.max()))
    assert largest < 1.0
    # A bound that nothing comes near would let mistakes through.
    assert largest > 0.02


def flushing(array: Array) -> Array:
    """Round to float32 as processors do that have no subnormal numbers."""
    rounded = np.asarray(array, dtype=np.float32)
    return np.where(np.abs(rounded) < np.finfo(np.float32).tiny, np.float32(0), rounded)


@pytest.mark.parametrize("program", (textbook, quotient), ids=lambda program: program.__name__)
@pytest.mark.parametrize("seed", range(4))
def test_what_underflows_on_the_way_is_within_the_bound(program: Program, seed: int) -> None:
    """Weights down to the smallest float32, whose logits' gradients underflow when they are scaled."""
    generator = np.random.default_rng(seed)
    inputs = drawn(generator, "float32", "offset", 1, (1, 3, 400, 64, 7))
    query, key = np.zeros(inputs.query.shape), np.zeros(inputs.key.shape)
    query[..., 0], key[..., 0] = 32.0, -np.linspace(0.0, 22.0, 400)
    inputs = replace(inputs, query=round_to_dtype(query, "float32"), key=round_to_dtype(key, "float32"))
    expected = inputs.expected(CONVENTIONS)
    found = program(inputs, inputs.visible(CONVENTIONS), flushing)
    received = np.concatenate([part.ravel() for part in found]).astype(np.float64)
    assert np.max(np.abs(received - expected.value) / expected.allowed) < 1.0


def test_weights_that_are_computed_twice_are_within_the_bound() -> None:
    """Equal values leave the logits no gradient: what comes is how far the two computations lie apart."""
    generator, largest = np.random.default_rng(0), 0.0
    for _ in range(80):
        inputs = drawn(generator, "float32", "normal", 1, (6, 2, 6, 64, 1))
        query, key = np.zeros(inputs.query.shape), np.zeros(inputs.key.shape)
        # Two keys share the largest logit, so that their sum has a logarithm; the others lie far below it.
        query[..., 0] = generator.uniform(16.0, 32.0, query.shape[:-1])
        key[..., 2:, 0] = generator.uniform(-21.0, -17.0, (*key.shape[:-2], 4))
        query, key = round_to_dtype(query, "float32"), round_to_dtype(key, "float32")
        value = np.broadcast_to(inputs.value[:, :, :1], inputs.value.shape)
        inputs = replace(inputs, query=query, key=key, value=value, mask=None)
        expected, part = inputs.expected(CONVENTIONS), inputs.part("grad_key")
        received = log_sum_exp(inputs, inputs.visible(CONVENTIONS), storing("float32"))[1].astype(np.float64)
        ratio = np.abs(received - part(expected.value)) / part(expected.allowed)
        largest = max(largest, float(ratio.max()))
    assert 0.1 < largest < 1.0


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("program", (in_blocks, through_the_maximum), ids=lambda program: program.__name__)
def test_what_the_maxima_of_blocks_get_is_within_the_bound(program: Program, dtype: str) -> None:
    """Keys that only the largest of their block get what rounding leaves of their block's gradients."""
    generator, largest = np.random.default_rng(0), 0.0
    for _ in range(60):
        # Logits 16 apart, and values that are zero where the weights are largest, as chance has it.
        inputs = drawn(generator, dtype, "bits", 4, (4, 1, 64, 16, 1))
        inputs = replace(inputs, query=4.0 * inputs.query)
        expected = inputs.expected(CONVENTIONS)
        found = program(inputs, inputs.visible(CONVENTIONS), storing(dtype))
        received = np.concatenate([part.ravel() for part in found]).astype(np.float64)
        ratio = np.abs(received - expected.value) / expected.allowed
        largest = max(largest, float(ratio.max()))
    assert largest < 1.0


def without_row_term(inputs: BackwardInputs) -> Array:
    store = storing("float64")
    query, key, value, grad_output = arrays(inputs, store)
    factor = query.shape[-1] ** -0.5
    logits = logits_of(query, key, inputs.visible(CONVENTIONS), factor, store)
    exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True))
    weights = exponentials / exponentials.sum(axis=-1, keepdims=True)
    grad_logits = weights * (grad_output @ turned(value))
    return factor * (grad_logits @ key)


@pytest.mark.parametrize(
    ("dtype", "defect"), (("float64", 1e-12), ("float32", 1e-4), ("bfloat16", 0.55), ("float16", 0.1))
)
def test_a_small_part_of_a_defect_exceeds_the_bound(dtype: str, defect: float) -> None:
    """So large a share of what the row term amounts to is found in an ordinary case."""
    inputs = drawn(np.random.default_rng(3), dtype, "normal", 1, (6, 5, 7, 4, 3))
    expected, part = inputs.expected(CONVENTIONS), inputs.part("grad_query")
    wrong = part(expected.value) + defect * (without_row_term(inputs) - part(expected.value))
    assert (np.abs(wrong - part(expected.value)) > 2.0 * part(expected.allowed)).any()


@pytest.mark.parametrize("dtype", DTYPES)
def test_bounds_are_finite_and_positive(dtype: str) -> None:
    for inputs in all_inputs(dtype, seed=1):
        allowed = inputs.expected(CONVENTIONS).allowed
        assert np.isfinite(allowed).all()
        assert (allowed > 0).all()
