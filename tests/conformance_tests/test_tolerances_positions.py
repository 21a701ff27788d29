"""The error bounds of position encodings: no correct program exceeds them, and small defects do.

The correct programs are written here, in the ways in which libraries compute angles; every intermediate result is
rounded to the dtype.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from veriformer.conformance_tests.core.subject import standard_conventions
from veriformer.conformance_tests.drawing.space import EVERY_PALETTE
from veriformer.conformance_tests.drawing.values import round_to_dtype
from veriformer.conformance_tests.operations.relative_positions.bounds import decided
from veriformer.conformance_tests.operations.relative_positions.inputs import AlibiInputs, BucketInputs
from veriformer.conformance_tests.operations.rotary.cases import RotaryCase
from veriformer.conformance_tests.operations.rotary.inputs import RotaryInputs

Array = np.ndarray
Frequencies = Callable[[int, float], Array]
DTYPES = ("float32", "float64", "bfloat16", "float16")
SINGLE = np.float32
CONVENTIONS = standard_conventions()


def by_power(width: int, base: float) -> Array:
    """1 / base^(2k/r), as in Hugging Face's Llama."""
    exponent = np.arange(0, width, 2, dtype=SINGLE) / SINGLE(width)
    return SINGLE(1.0) / np.power(SINGLE(base), exponent)


def by_negative_power(width: int, base: float) -> Array:
    """base^(−2k/r)."""
    return np.power(SINGLE(base), -np.arange(0, width, 2, dtype=SINGLE) * (SINGLE(1.0) / SINGLE(width)))


def by_exponential(width: int, base: float) -> Array:
    """e^(−2k ln(base)/r), as tensor2tensor computes sinusoids."""
    step = np.log(SINGLE(base)) / SINGLE(width)
    return np.exp(-np.arange(0, width, 2, dtype=SINGLE) * step)


def by_torch(width: int, base: float) -> Array:
    exponent = torch.arange(0, width, 2, dtype=torch.float32) / width
    return (1.0 / (base**exponent)).numpy()


def rotated(inputs: RotaryInputs, frequencies: Frequencies, *, positions_in: str = "float32") -> Array:
    """Angles of float32; tables, products and sum each kept in the dtype."""
    width, base = inputs.turned, inputs.base or 10000.0
    positions = round_to_dtype(inputs.positions.astype(float), positions_in).astype(SINGLE)
    angles = np.atleast_2d(positions)[:, None, :, None] * frequencies(width, base)
    cos, sin = (_kept(function(angles), inputs.dtype) for function in (np.cos, np.sin))
    result = inputs.x.copy()
    even, odd = inputs.x[..., 0:width:2], inputs.x[..., 1:width:2]
    result[..., 0:width:2] = _kept(_kept(even * cos, inputs.dtype) - _kept(odd * sin, inputs.dtype), inputs.dtype)
    result[..., 1:width:2] = _kept(_kept(odd * cos, inputs.dtype) + _kept(even * sin, inputs.dtype), inputs.dtype)
    return result


def _kept(array: Array, dtype: str) -> Array:
    return round_to_dtype(array.astype(np.float64), dtype)


def rotary_inputs(dtype: str, furthest: int) -> list[RotaryInputs]:
    """Return inputs of every palette, of several widths and bases."""
    return [
        RotaryInputs.draw(
            "rotary_embedding",
            RotaryCase(3, 4, 24, width, dtype, palette, 4, per_sample=True, furthest=furthest, base=base, seed=seed),
        )
        for seed, palette in enumerate(EVERY_PALETTE)
        for width, base in ((2, None), (8, None), (64, 500000.0), (128, 10.0))
    ]


def excess(inputs: RotaryInputs, result: Array) -> float:
    expected = inputs.expected(CONVENTIONS)
    return float(np.max(np.abs(result - expected.value) / np.maximum(expected.allowed, 1e-300)))


@pytest.mark.parametrize("program", [by_power, by_negative_power, by_exponential, by_torch])
@pytest.mark.parametrize("dtype", DTYPES)
def test_correct_rotations_stay_within_the_bound(dtype: str, program: Frequencies) -> None:
    worst = max(excess(inputs, rotated(inputs, program)) for inputs in rotary_inputs(dtype, 2000))
    assert worst <= 1.0


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_bound_is_not_far_above_what_rotations_err(dtype: str) -> None:
    worst = max(excess(inputs, rotated(inputs, by_power)) for inputs in rotary_inputs(dtype, 2))
    # In float64 the bound is twice what it is in float32: the factor for the reference's own rounding.
    assert worst > (0.07 if dtype == "float64" else 0.15)


@pytest.mark.parametrize("furthest", [300, 2000])
def test_positions_of_eight_bits_are_detected(furthest: int) -> None:
    wrong = [
        excess(inputs, rotated(inputs, by_power, positions_in="bfloat16"))
        for inputs in rotary_inputs("bfloat16", furthest)
    ]
    assert min(wrong) > 1.0


@pytest.mark.parametrize("dtype", DTYPES)
def test_frequencies_that_are_off_by_a_hundredth_are_detected(dtype: str) -> None:
    def off(width: int, base: float) -> Array:
        return by_power(width, base) * SINGLE(1.01)

    assert min(excess(inputs, rotated(inputs, off)) for inputs in rotary_inputs(dtype, 40)) > 1.0


def test_what_does_not_turn_has_no_tolerance() -> None:
    inputs = RotaryInputs.draw("rotary_embedding", RotaryCase(1, 1, 3, 8, furthest=9, rotary_dim=4, seed=1))
    allowed = inputs.expected(CONVENTIONS).allowed
    assert np.all(allowed[..., 4:] == 0.0)
    assert np.all(allowed[..., :4] > 0.0)


@pytest.mark.parametrize("pairing", ["interleaved", "half"])
def test_the_bound_stands_where_the_pairs_stand(pairing: str) -> None:
    """Only the first pair holds anything: all other components, turned or not, are exact up to underflow."""
    inputs = RotaryInputs.draw("rotary_embedding", RotaryCase(1, 1, 1, 8, furthest=9, seed=1))
    first = [0, 1] if pairing == "interleaved" else [0, 4]
    x = np.zeros((1, 1, 1, 8))
    x[..., first] = 1.0
    allowed = inputs.with_x(x).expected({**CONVENTIONS, "rotary_pairing": pairing}).allowed[0, 0, 0]
    assert np.flatnonzero(allowed > 1e-30).tolist() == first


def alibi_slopes_single(count: int) -> Array:
    """Powers of the first slope, one product after the other in float32, as the recursion of the paper's code."""
    power = 1 << (count.bit_length() - 1)

    def powers(heads: int) -> list[np.float32]:
        start = np.exp2(SINGLE(-8.0) / SINGLE(heads))
        slopes = [start]
        for _ in range(heads - 1):
            slopes.append(slopes[-1] * start)
        return slopes

    return np.array(powers(power) + powers(2 * power)[0::2][: count - power], dtype=SINGLE)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 12, 16, 20, 25, 64])
def test_slopes_by_repeated_products_stay_within_the_bound(count: int) -> None:
    inputs = AlibiInputs(count, 7, 40)
    rows = np.arange(33, 40, dtype=SINGLE)
    result = -alibi_slopes_single(count)[:, None, None] * (rows[:, None] - np.arange(40, dtype=SINGLE))
    expected = inputs.expected(CONVENTIONS)
    assert np.all(np.abs(result - expected.value) <= expected.allowed)
    off = np.abs(expected.value * 1.0001 - expected.value) > expected.allowed
    assert off[expected.judged & (expected.value != 0)].all()


def test_later_keys_are_not_compared() -> None:
    judged = AlibiInputs(2, 2, 3).expected(CONVENTIONS).judged
    assert judged.tolist() == [[[True, True, False], [True, True, True]]] * 2


SETTINGS = [(True, 32, 128), (False, 32, 128), (True, 8, 16), (False, 6, 50), (True, 20, 500), (False, 2, 5)]


def bucket_single(distance: Array, buckets: int, max_distance: int, *, difference: bool) -> Array:
    """T5's formula in float32, with the logarithm of a quotient or a difference of logarithms."""
    near = buckets // 2
    n = np.maximum(distance, near).astype(SINGLE)
    ends = (n, SINGLE(max_distance))
    above, below = (np.log(end) - np.log(SINGLE(near)) if difference else np.log(end / SINGLE(near)) for end in ends)
    far = near + (above / below * SINGLE(buckets - near)).astype(int)
    return np.where(distance < near, distance, np.minimum(far, buckets - 1))


@pytest.mark.parametrize("difference", [False, True])
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_where_buckets_are_judged_single_precision_agrees(settings: tuple[bool, int, int], difference: bool) -> None:
    distances = -np.arange(3 * settings[2])
    inputs = BucketInputs("float32", distances, *settings)
    expected = inputs.expected(CONVENTIONS)
    result = bucket_single(-distances, inputs.one_direction, settings[2], difference=difference)
    assert np.array_equal(result[expected.judged], expected.value[expected.judged])
    assert np.mean(expected.judged) > 0.97


def test_only_the_edges_are_left_out() -> None:
    """16 buckets of one direction up to 128: 8 · 2^(k/2) is whole at 8, 16, 32, 64; at 8 the logarithm is exactly 0."""
    judged = decided(np.arange(300), 16, 128)
    assert np.flatnonzero(~judged).tolist() == [16, 32, 64]
