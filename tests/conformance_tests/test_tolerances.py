"""The error bounds of softmax, projections, layer normalisation and sinusoids: kept by correct programs, not by wrong.

Each correct program is written here in its own order of operations, or is torch's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from veriformer.conformance_tests.core.expected import Expected
from veriformer.conformance_tests.core.subject import standard_conventions
from veriformer.conformance_tests.drawing.space import EVERY_PALETTE
from veriformer.conformance_tests.drawing.values import fill, round_to_dtype
from veriformer.conformance_tests.drawing.vectors import VectorCase
from veriformer.conformance_tests.operations.attention.case import AttentionCase
from veriformer.conformance_tests.operations.multi_head.inputs import MultiHeadInputs
from veriformer.conformance_tests.operations.normalisation.inputs import LayerNormInputs
from veriformer.conformance_tests.operations.sinusoids.inputs import PositionInputs
from veriformer.conformance_tests.operations.softmax.inputs import SoftmaxInputs

Array = np.ndarray
DTYPES = ("float32", "float64", "bfloat16", "float16")
WIDTHS = (1, 2, 3, 17, 65, 512)
CONVENTIONS = standard_conventions()


def excess(expected: Expected, output: Array) -> Array:
    """Return the error of each entry as a fraction of what is allowed."""
    error = np.abs(np.asarray(output, dtype=np.float64) - expected.value)
    return np.where(error == 0, 0.0, error / expected.allowed)


def tensor(array: Array, dtype: str) -> Any:
    return torch.from_numpy(np.array(array)).to(getattr(torch, dtype))


def from_torch(result: Any) -> Array:
    return np.asarray(result.to(torch.float64).numpy())


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    """Let small tensors not wait for a second thread."""
    torch.set_num_threads(1)


# Softmax


def softmax_inputs(dtype: str) -> list[SoftmaxInputs]:
    generator = np.random.default_rng(0)
    return [
        SoftmaxInputs(dtype, round_to_dtype(fill(generator, (20, 4, width), palette, amplitude), dtype))
        for palette, amplitude, width in product(EVERY_PALETTE, (1, 4, 100), WIDTHS)
    ]


def softmax_by_exponentials(x: Array) -> Array:
    exponentials = np.exp(x - x.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def softmax_by_logarithm(x: Array) -> Array:
    highest = x.max(axis=-1, keepdims=True)
    return np.exp(x - (highest + np.log(np.exp(x - highest).sum(axis=-1, keepdims=True))))


def softmax_by_reciprocal(x: Array) -> Array:
    exponentials = np.exp2((x - x.max(axis=-1, keepdims=True)) * x.dtype.type(np.log2(np.e)))
    return exponentials * (1 / np.cumsum(exponentials, axis=-1)[..., -1:])


@pytest.mark.parametrize("dtype", DTYPES)
def test_no_correct_softmax_is_accused(dtype: str) -> None:
    programs = (softmax_by_exponentials, softmax_by_logarithm, softmax_by_reciprocal)
    for inputs in softmax_inputs(dtype):
        expected = inputs.expected(CONVENTIONS)
        outputs = [from_torch(torch.softmax(tensor(inputs.x, dtype), dim=-1))]
        if dtype in ("float32", "float64"):
            outputs += [program(inputs.x.astype(dtype)) for program in programs]
        else:
            outputs += [
                round_to_dtype(program(inputs.x.astype(np.float32)).astype(float), dtype) for program in programs
            ]
        for output in outputs:
            assert excess(expected, output).max() <= 1.0


def test_a_softmax_that_is_slightly_wrong_is_accused() -> None:
    x = round_to_dtype(np.random.default_rng(1).normal(size=(200, 1, 7)), "float32")
    inputs = SoftmaxInputs("float32", x)
    expected, right = inputs.expected(CONVENTIONS), softmax_by_exponentials(x)
    for wrong in (right * (1 + 1e-5), softmax_by_exponentials(x * (1 + 1e-5)), right + 1e-5):
        assert (excess(expected, wrong) > 1).any(axis=(1, 2)).mean() > 0.95


# Multi-head attention


def multi_head_inputs(dtype: str, count: int, **settings: Any) -> list[MultiHeadInputs]:
    generator = np.random.default_rng(2)
    inputs = []
    for palette, amplitude, number in product(EVERY_PALETTE, (1, 4), range(count)):
        heads, width = int(generator.integers(1, 4)), int(generator.choice([1, 2, 5, 8]))
        lengths = (int(generator.integers(1, 9)), int(generator.choice([1, 3, 9, 33])))
        case = AttentionCase(
            4,
            heads,
            heads,
            *lengths,
            width,
            width,
            dtype,
            palette,
            amplitude,
            biases=bool(number % 2),
            seed=number,
        )
        inputs.append(MultiHeadInputs.draw("multi_head_attention", replace(case, **settings)))
    return inputs


def stored_as(dtype: str) -> Callable[[Array], Array]:
    if dtype in ("float32", "float64"):
        return lambda array: array.astype(dtype)
    return lambda array: round_to_dtype(array.astype(np.float64), dtype).astype(np.float32)


def head_by_head(inputs: MultiHeadInputs) -> Array:
    """Project, attend and project back one head after the other, and add the heads up."""
    store, weights, heads = stored_as(inputs.dtype), inputs.weights, inputs.num_heads
    x, context = store(inputs.x), store(inputs.context)

    def projected(source: Array, weight: Array, bias: Array | None, head: int) -> Array:
        result = store(source @ store(np.split(weight, heads, axis=1)[head]))
        return result if bias is None else store(result + store(np.split(bias, heads)[head]))

    total = np.zeros(inputs.result_shape, dtype=x.dtype)
    for head in range(heads):
        query = projected(x, weights.w_q, weights.b_q, head)
        key = projected(context, weights.w_k, weights.b_k, head)
        value = projected(context, weights.w_v, weights.b_v, head)
        logits = store(store(query @ key.swapaxes(-1, -2)) * np.asarray(query.shape[-1] ** -0.5).astype(query.dtype))
        exponentials = store(np.exp(store(logits - logits.max(axis=-1, keepdims=True))))
        attended = store(store(exponentials / store(exponentials.sum(axis=-1, keepdims=True))) @ value)
        # The sum over heads is that of one matrix product, in the precision that products accumulate in.
        total = total + attended @ store(np.split(weights.w_o, heads, axis=0)[head])
    return store(total) if weights.b_o is None else store(store(total) + store(weights.b_o))


def by_torch(inputs: MultiHeadInputs) -> Array:
    weights, dtype = inputs.weights, inputs.dtype
    linear = torch.nn.functional.linear

    def projected(source: Array, weight: Array, bias: Array | None) -> Any:
        result = linear(tensor(source, dtype), tensor(weight.T, dtype), None if bias is None else tensor(bias, dtype))
        return result.unflatten(-1, (inputs.num_heads, -1)).transpose(1, 2)

    query = projected(inputs.x, weights.w_q, weights.b_q)
    key = projected(inputs.context, weights.w_k, weights.b_k)
    value = projected(inputs.context, weights.w_v, weights.b_v)
    merged = torch.nn.functional.scaled_dot_product_attention(query, key, value).transpose(1, 2).flatten(2)
    bias = None if weights.b_o is None else tensor(weights.b_o, dtype)
    return from_torch(linear(merged, tensor(weights.w_o.T, dtype), bias))


@pytest.mark.parametrize("dtype", DTYPES)
def test_no_correct_multi_head_attention_is_accused(dtype: str) -> None:
    for inputs in multi_head_inputs(dtype, 12):
        expected = inputs.expected(CONVENTIONS)
        for program in (head_by_head, by_torch):
            assert excess(expected, program(inputs)).max() <= 1.0, f"{program.__name__}: {inputs.x.shape}"


def test_a_projection_that_is_slightly_wrong_is_accused() -> None:
    accused = []
    for inputs in multi_head_inputs("float32", 6, key_length=5, query_length=3, palette="normal", amplitude=1):
        wrong = replace(inputs, weights=replace(inputs.weights, w_v=inputs.weights.w_v * (1 + 1e-4)))
        accused.append((excess(inputs.expected(CONVENTIONS), head_by_head(wrong)) > 1).any())
    assert np.mean(accused) > 0.95


@pytest.mark.parametrize("dtype", ("float32", "bfloat16", "float16"))
def test_the_bound_of_multi_head_attention_stays_within_what_values_can_reach(dtype: str) -> None:
    """Large logits make weights uncertain, not values: the bound must not grow without limit."""
    for inputs in multi_head_inputs(dtype, 4, palette="offset", amplitude=4):
        allowed = inputs.expected(CONVENTIONS).allowed
        value = np.abs(inputs.context) @ np.abs(inputs.weights.w_v)
        if inputs.weights.b_v is not None:
            value = value + np.abs(inputs.weights.b_v)
        reach = value.max(axis=1, keepdims=True) @ np.abs(inputs.weights.w_o)
        assert (allowed <= 3.0 * reach + 1.0).all()


# Layer normalisation


def layer_norm_inputs(dtype: str) -> list[LayerNormInputs]:
    sizes = product(EVERY_PALETTE, (1, 4), (2, 3, 17, 65, 512), (1e-5, 1e-1))
    return [
        LayerNormInputs.draw("layer_norm", VectorCase(10, 4, width, dtype, palette, amplitude, eps, seed))
        for seed, (palette, amplitude, width, eps) in enumerate(sizes)
    ]


def normalised_by_root(x: Array, gamma: Array, beta: Array, eps: float) -> Array:
    centred = x - x.mean(axis=-1, keepdims=True, dtype=x.dtype)
    variance = np.mean(centred * centred, axis=-1, keepdims=True, dtype=x.dtype)
    return centred / np.sqrt(variance + x.dtype.type(eps)) * gamma + beta


def normalised_by_reciprocal(x: Array, gamma: Array, beta: Array, eps: float) -> Array:
    """The gain is multiplied by the reciprocal root first, and sums run from left to right."""
    count = x.dtype.type(x.shape[-1])
    centred = x - np.cumsum(x, axis=-1)[..., -1:] / count
    variance = np.cumsum(centred**2, axis=-1)[..., -1:] / count
    return centred * (gamma * (1 / np.sqrt(variance + x.dtype.type(eps)))) + beta


@pytest.mark.parametrize("dtype", DTYPES)
def test_no_correct_layer_normalisation_is_accused(dtype: str) -> None:
    computed_in = dtype if dtype in ("float32", "float64") else "float32"
    for inputs in layer_norm_inputs(dtype):
        expected = inputs.expected(CONVENTIONS)
        narrow = [array.astype(computed_in) for array in (inputs.x, inputs.gamma, inputs.beta)]
        arrays = [tensor(array, dtype) for array in (inputs.x, inputs.gamma, inputs.beta)]
        layer_norm = torch.nn.functional.layer_norm
        outputs = [from_torch(layer_norm(arrays[0], arrays[0].shape[-1:], *arrays[1:], inputs.eps))]
        outputs += [
            round_to_dtype(program(*narrow, inputs.eps).astype(np.float64), dtype)
            for program in (normalised_by_root, normalised_by_reciprocal)
        ]
        for output in outputs:
            assert excess(expected, output).max() <= 1.0, inputs.x.shape


def spread_vectors(spread: float) -> LayerNormInputs:
    """Return vectors of standard deviation `spread`, where it meets √eps."""
    x = round_to_dtype(np.random.default_rng(3).normal(size=(200, 1, 16)) * spread, "float32")
    return LayerNormInputs("float32", x, np.ones(16), np.zeros(16), 1e-5)


WRONG_NORMS = (
    (
        "eps outside the root",
        0.01,
        lambda x: (x - x.mean(-1, keepdims=True)) / (x.std(-1, keepdims=True) + 1e-5),
    ),
    (
        "divisor E − 1",
        1.0,
        lambda x: (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True, ddof=1) + 1e-5),
    ),
    (
        "another eps",
        0.1,
        lambda x: (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-6),
    ),
    (
        "slightly scaled",
        1.0,
        lambda x: (1 + 1e-5) * (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5),
    ),
)


@pytest.mark.parametrize(("spread", "wrong"), [case[1:] for case in WRONG_NORMS], ids=[case[0] for case in WRONG_NORMS])
def test_a_layer_normalisation_that_is_slightly_wrong_is_accused(
    spread: float, wrong: Callable[[Array], Array]
) -> None:
    inputs = spread_vectors(spread)
    assert (excess(inputs.expected(CONVENTIONS), wrong(inputs.x)) > 1).any(axis=(1, 2)).mean() > 0.95


# Sinusoids


def single(value: Any) -> Array:
    return np.asarray(value, dtype=np.float32)


def frequencies_by_power(width: int) -> Array:
    return single(10000.0) ** single(-np.arange(0, width, 2) / width)


def frequencies_by_exponential(width: int) -> Array:
    return np.exp(single(np.arange(0, width, 2)) * single(-np.log(10000.0) / width))


def frequencies_by_division(width: int) -> Array:
    return single(1.0) / single(10000.0) ** (single(np.arange(0, width, 2)) / single(width))


@pytest.mark.parametrize("frequencies", (frequencies_by_power, frequencies_by_exponential, frequencies_by_division))
def test_no_correct_sinusoid_is_accused(frequencies: Callable[[int], Array]) -> None:
    for length, width in product((1, 2, 40, 1024), (2, 4, 10, 64, 512)):
        expected = PositionInputs(length, width, "float32").expected(CONVENTIONS)
        angles = single(np.arange(length))[:, None] * frequencies(width)
        table = np.stack((np.sin(angles), np.cos(angles)), axis=-1).reshape(length, width)
        assert excess(expected, table).max() <= 1.0


@pytest.mark.parametrize("base", (9999.0, 10001.0))
def test_a_base_that_is_slightly_off_is_accused(base: float) -> None:
    expected = PositionInputs(40, 64, "float32").expected(CONVENTIONS)
    angles = np.arange(40)[:, None] * base ** (-np.arange(0, 64, 2) / 64)
    table = np.stack((np.sin(angles), np.cos(angles)), axis=-1).reshape(40, 64)
    assert excess(expected, table).max() > 10.0


def test_positions_that_count_from_one_are_accused() -> None:
    expected = PositionInputs(4, 8, "float32").expected(CONVENTIONS)
    angles = np.arange(1, 5)[:, None] * 10000.0 ** (-np.arange(0, 8, 2) / 8)
    table = np.stack((np.sin(angles), np.cos(angles)), axis=-1).reshape(4, 8)
    assert excess(expected, table).min(axis=0).max() > 1000.0
