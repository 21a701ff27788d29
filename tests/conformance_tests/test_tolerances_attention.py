"""The error bound of attention: no correct program exceeds it, and small defects do.

The correct programs are written here, in the orders of operations that kernels use; every intermediate result is
rounded to the dtype, and matrix products accumulate in float32, as eager code on 16 bits does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
import pytest
import torch
from veriformer.conformance_tests.cases.case import Palette
from veriformer.conformance_tests.cases.spaces import EVERY_PALETTE
from veriformer.conformance_tests.cases.values import fill, round_to_dtype
from veriformer.conformance_tests.inputs.attention import AttentionInputs
from veriformer.conformance_tests.inputs.expected import Expected
from veriformer.conformance_tests.subject import standard_conventions

Array = np.ndarray
Store = Callable[[Array], Array]
Program = Callable[[AttentionInputs, Array, Store], Array]
DTYPES = ("float32", "float64", "bfloat16", "float16")
AMPLITUDES = (1, 4, 10, 30)
# (heads, L, S, D, Dv): one key, one width, the edges of blocks, few queries with many keys.
SHAPES = ((12, 5, 7, 4, 3), (12, 3, 1, 1, 2), (8, 1, 33, 16, 4), (6, 9, 65, 8, 5), (2, 4, 512, 32, 6), (8, 7, 2, 1, 1))
CONVENTIONS = standard_conventions()


def drawn(
    generator: np.random.Generator, dtype: str, palette: Palette, amplitude: int, shape: tuple[int, ...]
) -> AttentionInputs:
    """Return independent attentions, one in each head, some with a mask or a bias."""
    heads, queries, keys, width, value_width = shape
    amplitude = min(amplitude, 8) if dtype == "float16" else amplitude

    def values(*sizes: int, amplitude: int = 1) -> Array:
        return round_to_dtype(fill(generator, (2, heads, *sizes), palette, amplitude), dtype)

    mask = generator.random((2, heads, queries, keys)) < 0.7
    mask[..., 0] = True
    bias = values(queries, keys)
    return AttentionInputs(
        "scaled_dot_product_attention",
        dtype,
        values(queries, width, amplitude=amplitude),
        values(keys, width, amplitude=amplitude),
        values(keys, value_width),
        mask if amplitude != 4 else None,
        bias if generator.random() < 0.5 else None,
    )


def all_inputs(dtype: str, seed: int = 0) -> Iterator[AttentionInputs]:
    generator = np.random.default_rng(seed)
    for palette, amplitude, shape in product(EVERY_PALETTE, AMPLITUDES, SHAPES):
        yield drawn(generator, dtype, palette, amplitude, shape)


def storing(dtype: str) -> Store:
    """Return what keeps an intermediate result in the dtype, for computing on in float32 or float64."""
    if dtype in ("float32", "float64"):
        return lambda array: array.astype(dtype)
    return lambda array: round_to_dtype(array.astype(np.float64), dtype).astype(np.float32)


def masked(inputs: AttentionInputs, logits: Array, store: Store) -> Array:
    """Add the bias and hide what the mask hides."""
    if inputs.bias is not None:
        logits = store(logits + store(inputs.bias))
    return logits if inputs.mask is None else np.where(inputs.mask, logits, -np.inf).astype(logits.dtype)


def scale_of(inputs: AttentionInputs, store: Store) -> Array:
    return store(np.asarray(inputs.query.shape[-1] ** -0.5))


def transposed(array: Array) -> Array:
    return array.swapaxes(-1, -2)


def naive(inputs: AttentionInputs, value: Array, store: Store) -> Array:
    """softmax(Q Kᵀ · scale) V, each step stored."""
    logits = store(store(store(inputs.query) @ transposed(store(inputs.key))) * scale_of(inputs, store))
    logits = masked(inputs, logits, store)
    exponentials = store(np.exp(store(logits - logits.max(axis=-1, keepdims=True))))
    weights = store(exponentials / store(exponentials.sum(axis=-1, keepdims=True)))
    return store(weights @ store(value))


def scaled_query(inputs: AttentionInputs, value: Array, store: Store) -> Array:
    """The scale goes into the query before the product, and the sum is divided out at the end."""
    query = store(store(inputs.query) * scale_of(inputs, store))
    logits = masked(inputs, store(query @ transposed(store(inputs.key))), store)
    exponentials = store(np.exp(store(logits - logits.max(axis=-1, keepdims=True))))
    total = store(exponentials.sum(axis=-1, keepdims=True))
    return store(store(exponentials @ store(value)) / total)


def divided_by_root(inputs: AttentionInputs, value: Array, store: Store) -> Array:
    """Half of the scale goes into the query and half into the key, as in torch's unfused kernel."""
    half = store(np.sqrt(scale_of(inputs, store)))
    query, key = store(store(inputs.query) * half), store(store(inputs.key) * half)
    logits = masked(inputs, store(query @ transposed(key)), store)
    exponentials = store(np.exp(store(logits - logits.max(axis=-1, keepdims=True))))
    weights = store(exponentials / store(exponentials.sum(axis=-1, keepdims=True)))
    return store(weights @ store(value))


def log_sum_exp(inputs: AttentionInputs, value: Array, store: Store) -> Array:
    """The normaliser is kept as its logarithm: exp(log_softmax)."""
    logits = masked(inputs, store(store(store(inputs.query) @ transposed(store(inputs.key))) * scale_of(inputs, store)), store)
    highest = logits.max(axis=-1, keepdims=True)
    total = store(np.exp(store(logits - highest)).sum(axis=-1, keepdims=True))
    weights = store(np.exp(store(logits - store(highest + store(np.log(total))))))
    return store(weights @ store(value))


def online(inputs: AttentionInputs, value: Array, store: Store) -> Array:
    """Keys come in blocks of 16, backwards, and what was summed is rescaled whenever the maximum grows."""
    query, key, value = store(inputs.query), store(inputs.key), store(value)
    logits = masked(inputs, store(store(query @ transposed(key)) * scale_of(inputs, store)), store)
    highest = np.full((*logits.shape[:-1], 1), -np.inf, dtype=logits.dtype)
    total, output = np.zeros_like(highest), np.zeros((*logits.shape[:-1], value.shape[-1]), dtype=logits.dtype)
    for start in reversed(range(0, logits.shape[-1], 16)):
        block = logits[..., start : start + 16]
        raised = np.maximum(highest, block.max(axis=-1, keepdims=True))
        reached = np.where(np.isneginf(raised), 0, raised)
        exponentials, shrink = np.exp(block - reached), np.exp(highest - reached)
        total = total * shrink + exponentials.sum(axis=-1, keepdims=True)
        output = output * shrink + store(exponentials) @ value[..., start : start + 16, :]
        highest = raised
    return store(output / total)


def with_powers_of_two(inputs: AttentionInputs, value: Array, store: Store) -> Array:
    """exp is 2 to the power of the logit times log₂ e, the product folded into the scale."""
    factor = store(scale_of(inputs, store) * np.log2(np.e))
    logits = store(store(store(inputs.query) @ transposed(store(inputs.key))) * factor)
    if inputs.bias is not None:
        logits = store(logits + store(store(inputs.bias) * store(np.asarray(np.log2(np.e)))))
    if inputs.mask is not None:
        logits = np.where(inputs.mask, logits, -np.inf).astype(logits.dtype)
    exponentials = store(np.exp2(store(logits - logits.max(axis=-1, keepdims=True))))
    weights = store(exponentials / store(exponentials.sum(axis=-1, keepdims=True)))
    return store(weights @ store(value))


def torch_kernel(inputs: AttentionInputs, value: Array, store: Store) -> Array:
    """torch's own functional attention on the CPU."""
    dtype = getattr(torch, inputs.dtype)
    query, key, values = (torch.from_numpy(array).to(dtype) for array in (inputs.query, inputs.key, value))
    attn_mask = None
    if inputs.bias is not None:
        attn_mask = torch.from_numpy(inputs.bias).to(dtype)
        if inputs.mask is not None:
            attn_mask = torch.where(torch.from_numpy(inputs.mask), attn_mask, float("-inf"))
    elif inputs.mask is not None:
        attn_mask = torch.from_numpy(inputs.mask)
    output = torch.nn.functional.scaled_dot_product_attention(query, key, values, attn_mask=attn_mask)
    return output.to(torch.float64).numpy()


PROGRAMS = (naive, scaled_query, divided_by_root, log_sum_exp, online, with_powers_of_two, torch_kernel)


def excess(inputs: AttentionInputs, expected: Expected, output: Array) -> Array:
    """Return the error of each entry as a fraction of what is allowed."""
    error = np.abs(output.astype(np.float64) - expected.value)
    return np.where(error == 0, 0.0, error / expected.allowed)


def outputs(inputs: AttentionInputs, programs: tuple[Program, ...]) -> Iterator[tuple[Program, Array]]:
    assert inputs.value is not None
    for program in programs:
        with np.errstate(invalid="ignore", over="ignore", under="ignore"):
            yield program, program(inputs, inputs.value, storing(inputs.dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_no_correct_program_is_accused(dtype: str) -> None:
    """120 calls of 4 to 24 attentions each, seven programs: some ten thousand attentions for each dtype."""
    worst: dict[str, tuple[float, str]] = {program.__name__: (0.0, "") for program in PROGRAMS}
    for inputs in all_inputs(dtype):
        expected = inputs.expected(CONVENTIONS)
        for program, output in outputs(inputs, PROGRAMS):
            largest = float(excess(inputs, expected, output).max())
            where = f"query {inputs.query.shape}, key {inputs.key.shape}, bias {inputs.bias is not None}"
            worst[program.__name__] = max(worst[program.__name__], (largest, where))
    accused = {name: found for name, found in worst.items() if not found[0] <= 1.0}
    assert not accused
