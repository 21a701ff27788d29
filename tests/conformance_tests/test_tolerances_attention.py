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
from veriformer.conformance_tests.core.expected import Expected
from veriformer.conformance_tests.core.subject import standard_conventions
from veriformer.conformance_tests.drawing.case import Palette
from veriformer.conformance_tests.drawing.space import EVERY_PALETTE
from veriformer.conformance_tests.drawing.values import fill, round_to_dtype
from veriformer.conformance_tests.operations.attention.inputs import AttentionInputs

Array = np.ndarray
Store = Callable[[Array], Array]
Program = Callable[[AttentionInputs, Array, Store], Array]
DTYPES = ("float32", "float64", "bfloat16", "float16")
AMPLITUDES = (1, 4, 30)
# (heads, L, S, D, Dv): one key, one width, the edges of blocks, few queries with many keys.
SHAPES = (
    (12, 5, 7, 4, 3),
    (12, 3, 1, 1, 2),
    (8, 1, 33, 16, 4),
    (6, 9, 65, 8, 5),
    (2, 4, 512, 32, 6),
    (8, 7, 2, 1, 1),
)
CONVENTIONS = standard_conventions()


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    """Let small tensors not wait for a second thread."""
    torch.set_num_threads(1)


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
    """Half of the scale goes into the query and half into the key, as in torch's unfused kernel.

    The factor is a number, not an array: torch multiplies by it in float32 at least.
    """
    half = np.asarray(inputs.query.shape[-1] ** -0.25).astype(store(inputs.query).dtype)
    query, key = store(store(inputs.query) * half), store(store(inputs.key) * half)
    logits = masked(inputs, store(query @ transposed(key)), store)
    exponentials = store(np.exp(store(logits - logits.max(axis=-1, keepdims=True))))
    weights = store(exponentials / store(exponentials.sum(axis=-1, keepdims=True)))
    return store(weights @ store(value))


def log_sum_exp(inputs: AttentionInputs, value: Array, store: Store) -> Array:
    """The normaliser is kept as its logarithm, as by log_softmax; in float32 at least."""
    product = store(store(inputs.query) @ transposed(store(inputs.key)))
    logits = masked(inputs, store(product * scale_of(inputs, store)), store)
    highest = logits.max(axis=-1, keepdims=True)
    logarithm = highest + np.log(np.exp(logits - highest).sum(axis=-1, keepdims=True))
    return store(store(np.exp(logits - logarithm)) @ store(value))


def online(inputs: AttentionInputs, value: Array, store: Store) -> Array:
    """Keys come in blocks of 16, backwards, and what was summed is rescaled whenever the maximum grows."""
    query, key, value = store(inputs.query), store(inputs.key), store(value)
    logits = masked(inputs, store(store(query @ transposed(key)) * scale_of(inputs, store)), store)
    highest = np.full((*logits.shape[:-1], 1), -np.inf, dtype=logits.dtype)
    total, output = (
        np.zeros_like(highest),
        np.zeros((*logits.shape[:-1], value.shape[-1]), dtype=logits.dtype),
    )
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
    """The exponential is 2 to the power of the logit times log₂ e, the product folded into the scale.

    Kernels that do so keep the logits of 16-bit vectors in float32, where they accumulate them.
    """
    keep = storing("float64" if inputs.dtype == "float64" else "float32")
    factor = keep(np.asarray(inputs.query.shape[-1] ** -0.5) * np.log2(np.e))
    logits = keep(keep(store(inputs.query) @ transposed(store(inputs.key))) * factor)
    if inputs.bias is not None:
        logits = keep(logits + keep(store(inputs.bias) * keep(np.asarray(np.log2(np.e)))))
    if inputs.mask is not None:
        logits = np.where(inputs.mask, logits, -np.inf).astype(logits.dtype)
    exponentials = store(np.exp2(keep(logits - logits.max(axis=-1, keepdims=True))))
    weights = store(exponentials / store(exponentials.sum(axis=-1, keepdims=True)))
    return store(weights @ store(value))


def torch_kernel(inputs: AttentionInputs, value: Array, store: Store) -> Array:
    """Call torch's own functional attention on the CPU."""
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
    """Ninety calls of 4 to 24 attentions each, by seven programs: some ten thousand attentions for each dtype."""
    accused = []
    for inputs in all_inputs(dtype):
        expected = inputs.expected(CONVENTIONS)
        for program, output in outputs(inputs, PROGRAMS):
            largest = excess(inputs, expected, output).max()
            if not largest <= 1.0:
                accused.append((program.__name__, largest, inputs.query.shape, inputs.key.shape))
    assert not accused


@pytest.mark.parametrize("dtype", DTYPES)
def test_no_correct_weights_are_accused(dtype: str) -> None:
    """With the unit matrix for values the output is the weights; only the bound is another."""
    largest = []
    for inputs in all_inputs(dtype, seed=1):
        unit = np.broadcast_to(np.eye(inputs.key_length), (*inputs.key.shape[:3], inputs.key_length))
        if inputs.key_length > 100:
            continue
        weights = AttentionInputs("attention_weights", dtype, inputs.query, inputs.key, None, inputs.mask, inputs.bias)
        expected = weights.expected(CONVENTIONS)
        for program in (naive, log_sum_exp, with_powers_of_two, divided_by_root):
            with np.errstate(over="ignore", under="ignore"):
                output = program(inputs, np.asarray(unit), storing(dtype))
            largest.append(excess(weights, expected, output).max())
    assert np.max(largest) <= 1.0


# Not too loose


def ordinary(seed: int = 0, count: int = 200) -> AttentionInputs:
    """Return attentions of 5 queries and 7 keys of width 4, from normal values, in float32."""
    generator = np.random.default_rng(seed)
    query, key, value = (
        round_to_dtype(generator.normal(size=(count, 1, length, 4)), "float32") for length in (5, 7, 7)
    )
    return AttentionInputs("scaled_dot_product_attention", "float32", query, key, value)


def detected(inputs: AttentionInputs, output: Array) -> float:
    """Return the fraction of attentions of which an entry is out of bounds."""
    wrong = excess(inputs, inputs.expected(CONVENTIONS), output) > 1.0
    return float(wrong.any(axis=(1, 2, 3)).mean())


def single(array: Array) -> Array:
    return array.astype(np.float32)


def attended(logits: Array, value: Array) -> Array:
    exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True) @ value


def logits_of(inputs: AttentionInputs, scale: float = 0.5) -> Array:
    return single(inputs.query) @ transposed(single(inputs.key)) * np.float32(scale)


def test_what_is_allowed_is_not_far_from_what_happens() -> None:
    inputs = ordinary()
    expected = inputs.expected(CONVENTIONS)
    fractions = excess(inputs, expected, attended(logits_of(inputs), single(np.asarray(inputs.value))))
    # A worst case over a few dozen roundings is ten to a hundred times what they come to.
    assert 0.005 < np.median(fractions[fractions > 0]) < 0.2
    assert 0.05 < fractions.max() <= 1.0


def test_nothing_wrong_is_not_detected() -> None:
    inputs = ordinary()
    assert detected(inputs, attended(logits_of(inputs), single(np.asarray(inputs.value)))) == 0.0


@pytest.mark.parametrize(("relative", "least"), ((1e-4, 1.0), (1e-5, 0.99)))
def test_a_scale_that_is_slightly_off_is_detected(relative: float, least: float) -> None:
    inputs = ordinary()
    output = attended(logits_of(inputs, 0.5 * (1 + relative)), single(np.asarray(inputs.value)))
    assert detected(inputs, output) >= least


def test_a_mask_that_leaks_a_hundred_thousandth_is_detected() -> None:
    """A masked key keeps 1e-5 of its weight."""
    inputs = ordinary(1)
    mask = np.ones((1, 1, 5, 7), dtype=bool)
    mask[..., 3] = False
    hidden = AttentionInputs(inputs.operation, "float32", inputs.query, inputs.key, inputs.value, mask)
    logits = logits_of(inputs)
    logits[..., 3] += np.log(np.float32(1e-5))
    assert detected(hidden, attended(logits, single(np.asarray(inputs.value)))) == 1.0


def test_a_key_that_is_left_out_is_detected() -> None:
    inputs = ordinary(2)
    value = single(np.asarray(inputs.value))
    assert detected(inputs, attended(logits_of(inputs)[..., :-1], value[:, :, :-1])) == 1.0


def test_products_accumulated_in_half_precision_are_detected_in_float32() -> None:
    inputs = ordinary(3)
    logits = (inputs.query.astype(np.float16) @ transposed(inputs.key.astype(np.float16))).astype(np.float32)
    assert detected(inputs, attended(logits * np.float32(0.5), single(np.asarray(inputs.value)))) == 1.0


def test_float32_inside_is_detected_in_float64() -> None:
    inputs = ordinary(4)
    double = AttentionInputs(inputs.operation, "float64", inputs.query, inputs.key, inputs.value)
    assert detected(double, attended(logits_of(inputs), single(np.asarray(inputs.value)))) == 1.0


def test_float32_inside_is_allowed_in_float64_where_the_convention_says_so() -> None:
    inputs = ordinary(4)
    double = AttentionInputs(inputs.operation, "float64", inputs.query, inputs.key, inputs.value)
    expected = double.expected({**CONVENTIONS, "softmax_dtype": "float32"})
    logits = (inputs.query @ transposed(inputs.key) * 0.5).astype(np.float32)
    exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True))
    weights = (exponentials / exponentials.sum(axis=-1, keepdims=True)).astype(np.float64)
    assert excess(double, expected, weights @ np.asarray(inputs.value)).max() <= 1.0


def test_logits_of_the_next_head_are_detected_in_bfloat16() -> None:
    """Even where half of the digits are lost, another key is another key."""
    generator = np.random.default_rng(5)
    query, key, value = (round_to_dtype(generator.normal(size=(100, 2, length, 4)), "bfloat16") for length in (5, 7, 7))
    inputs = AttentionInputs("scaled_dot_product_attention", "bfloat16", query, key, value)
    assert detected(inputs, attended(query @ transposed(key[:, ::-1]) * 0.5, value)) == 1.0


def test_a_scale_that_is_a_tenth_off_is_detected_in_bfloat16() -> None:
    generator = np.random.default_rng(6)
    query, key, value = (round_to_dtype(generator.normal(size=(200, 1, length, 4)), "bfloat16") for length in (5, 7, 7))
    inputs = AttentionInputs("scaled_dot_product_attention", "bfloat16", query, key, value)
    assert detected(inputs, attended(query @ transposed(key) * 0.5 * 1.1, value)) > 0.9


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_bound_never_exceeds_the_distance_of_the_farthest_value_by_more_than_roundings(
    dtype: str,
) -> None:
    """However wrong the logits may be, the output stays among the values: no bound excuses anything."""
    for inputs in all_inputs(dtype, seed=2):
        expected, value = inputs.expected(CONVENTIONS), np.asarray(inputs.value)
        reach = np.ptp(value, axis=2, keepdims=True) + 0.7 * np.abs(value).max(axis=2, keepdims=True)
        assert (expected.allowed <= reach + 1e-3).all()
