"""Drawn values are exactly those that the dtype can hold, and each regime is what it says it is."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
import torch
from veriformer.conformance_tests.drawing.case import Palette
from veriformer.conformance_tests.drawing.values import fill, positive_fill, round_to_dtype

NUMPY_DTYPES = ("float16", "float32", "float64")
ALL_DTYPES = (*NUMPY_DTYPES, "bfloat16")
# A dtype's smallest subnormal, smallest normal, and the last digit of one.
LANDMARKS = {
    "float16": (2.0**-24, 2.0**-14, 2.0**-10),
    "bfloat16": (2.0**-133, 2.0**-126, 2.0**-7),
    "float32": (2.0**-149, 2.0**-126, 2.0**-23),
    "float64": (2.0**-1074, 2.0**-1022, 2.0**-52),
}
LARGEST = {"float16": 65504.0, "bfloat16": (2 - 2.0**-7) * 2.0**127, "float32": (2 - 2.0**-23) * 2.0**127}


def converted(values: np.ndarray, dtype: str) -> np.ndarray:
    """Return torch's own conversion, as float64: it knows all four dtypes.

    To 16 bits torch goes by way of float32 and so rounds a float64 twice; these values must be float32's already.
    """
    narrow = torch.from_numpy(np.ascontiguousarray(values, dtype=np.float64)).to(getattr(torch, dtype))
    return narrow.to(torch.float64).numpy()


def spread_over_exponents(dtype: str, count: int) -> np.ndarray:
    """Return random values over the whole range of a dtype, subnormals included, and none beyond it."""
    generator = np.random.default_rng(1)
    smallest, largest = LANDMARKS[dtype][0], LARGEST.get(dtype, 1.7e308)
    exponents = generator.uniform(max(np.log2(smallest) - 3, -1074), np.log2(largest) - 1e-9, count)
    return generator.choice([-1.0, 1.0], count) * np.exp2(exponents)


@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_agrees_with_torch_over_the_whole_range(dtype: str) -> None:
    values = spread_over_exponents(dtype, 20_000)
    if dtype in ("float16", "bfloat16"):
        values = values.astype(np.float32).astype(np.float64)
    np.testing.assert_array_equal(round_to_dtype(values, dtype), converted(values, dtype))


@pytest.mark.parametrize("dtype", NUMPY_DTYPES)
def test_agrees_with_numpy_over_the_whole_range(dtype: str) -> None:
    values = spread_over_exponents(dtype, 20_000)
    np.testing.assert_array_equal(round_to_dtype(values, dtype), values.astype(dtype).astype(np.float64))


@pytest.mark.parametrize("dtype", ("float16", "bfloat16", "float32"))
def test_ties_go_to_the_even_neighbour(dtype: str) -> None:
    digit = LANDMARKS[dtype][2]
    steps = np.arange(16)
    ties = 1.0 + (steps + 0.5) * digit
    even = 1.0 + 2.0 * np.ceil(steps / 2) * digit
    np.testing.assert_array_equal(round_to_dtype(ties, dtype), even)
    np.testing.assert_array_equal(round_to_dtype(-ties, dtype), -even)
    np.testing.assert_array_equal(converted(ties, dtype), even)


@pytest.mark.parametrize("dtype", ("float16", "bfloat16", "float32"))
def test_ties_among_subnormals_go_to_the_even_neighbour(dtype: str) -> None:
    step = LANDMARKS[dtype][0]
    count = np.arange(16)
    ties, even = (count + 0.5) * step, 2.0 * np.ceil(count / 2) * step
    np.testing.assert_array_equal(round_to_dtype(ties, dtype), even)
    np.testing.assert_array_equal(converted(ties, dtype), even)


@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_what_the_dtype_holds_stays(dtype: str) -> None:
    smallest, normal, digit = LANDMARKS[dtype]
    held = np.array([0.0, 1.0, 1.0 + digit, normal, normal - smallest, smallest, 3 * smallest, 2.0 - digit])
    np.testing.assert_array_equal(round_to_dtype(held, dtype), held)


@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_rounding_twice_is_rounding_once(dtype: str) -> None:
    once = round_to_dtype(spread_over_exponents(dtype, 2_000), dtype)
    np.testing.assert_array_equal(round_to_dtype(once, dtype), once)


@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_what_is_not_finite_stays(dtype: str) -> None:
    values = np.array([np.inf, -np.inf, np.nan, 1.0])
    np.testing.assert_array_equal(round_to_dtype(values, dtype), values)


def test_zero_keeps_its_sign() -> None:
    rounded = round_to_dtype(np.array([0.0, -0.0, -1e-300]), "float32")
    assert np.signbit(rounded).tolist() == [False, True, True]


def test_the_values_of_every_regime_survive_conversion() -> None:
    generator = np.random.default_rng(2)
    for palette in get_args(Palette):
        for dtype in ALL_DTYPES:
            values = round_to_dtype(fill(generator, (3, 4, 5), palette, 4), dtype)
            np.testing.assert_array_equal(converted(values, dtype), values)


def test_bits_and_integers_are_what_they_are_called() -> None:
    generator = np.random.default_rng(3)
    assert set(np.unique(fill(generator, (200,), "bits"))) == {0.0, 1.0}
    assert set(np.unique(fill(generator, (500,), "integers"))) == {-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0}


def test_offset_values_have_a_mean_far_from_zero() -> None:
    values = fill(np.random.default_rng(4), (4000,), "offset")
    assert abs(values.mean() - 3.0) < 0.05
    assert abs(values.std() - 0.5) < 0.05


def test_repeated_rows_are_equal_and_their_columns_are_not() -> None:
    values = fill(np.random.default_rng(5), (2, 3, 4, 5), "repeated")
    assert (values == values[..., :1, :]).all()
    assert len(np.unique(values[0, 0, 0])) == 5
    assert (values[0, 0] != values[1, 2]).any()


def test_normal_values_have_unit_variance() -> None:
    values = fill(np.random.default_rng(6), (4000,), "normal")
    assert abs(values.std() - 1.0) < 0.05
    assert abs(values.mean()) < 0.06


@pytest.mark.parametrize("palette", get_args(Palette))
def test_amplitude_multiplies(palette: Palette) -> None:
    one, four = (fill(np.random.default_rng(7), (2, 3, 4), palette, amplitude) for amplitude in (1, 4))
    np.testing.assert_array_equal(four, 4.0 * one)


def test_parameters_are_never_zero_and_not_all_alike() -> None:
    values = positive_fill(np.random.default_rng(8), (100,))
    assert set(values) == {1.0, 2.0, 3.0}
