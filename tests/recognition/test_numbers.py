"""Equality up to rounding, the precision that numbers were computed in, activations and factors."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from veriformer import reference
from veriformer.conformance_tests.recognition.agreement import (
    BFLOAT,
    DOUBLE,
    HALF,
    SINGLE,
    agree,
    allowed,
    distance,
    unit_of,
)
from veriformer.conformance_tests.recognition.elementwise import activation_of, factor_of, shift_of

X = np.random.default_rng(0).normal(size=(5, 40)) * 2.0


@pytest.mark.parametrize(("dtype", "unit"), ((np.float64, DOUBLE), (np.float32, SINGLE), (np.float16, HALF)))
def test_the_unit_is_that_of_the_precision_that_the_numbers_have(dtype: type, unit: float) -> None:
    assert unit_of(X.astype(dtype).astype(float)) == unit


@pytest.mark.xfail(reason="a number of bfloat16 is one of float16 too, unless it is very large or small")
def test_bfloat16_is_told_from_float16() -> None:
    truncated = (X.astype(np.float32).view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
    assert unit_of(truncated.astype(float)) == BFLOAT


def test_the_coarsest_precision_counts_and_whole_numbers_say_nothing() -> None:
    assert unit_of(X, X.astype(np.float32).astype(float)) == SINGLE
    assert unit_of(np.arange(12.0), X) == DOUBLE
    assert unit_of(np.array([0.5, -0.25, 1.0, np.inf])) == DOUBLE
    assert unit_of() == DOUBLE


def test_equality_is_up_to_rounding_of_the_largest_entry() -> None:
    largest = float(np.abs(X).max())
    assert allowed(X, DOUBLE) == pytest.approx(4096 * 2.0**-53 * largest)
    off = X.copy()
    off[0, 0] += 0.9 * allowed(X, DOUBLE)
    assert agree(off, X)
    off[0, 0] = X[0, 0] + 1.2 * allowed(X, DOUBLE)
    assert not agree(off, X)
    assert agree(off, X, SINGLE)
    assert distance(off, X) == pytest.approx(1.2 * 4096 * 2.0**-53, rel=1e-3)


def test_a_part_in_float32_agrees_with_its_formula_only_in_its_own_unit() -> None:
    island = np.exp(X.astype(np.float32)).astype(float)
    assert not agree(island, np.exp(X))
    assert agree(island, np.exp(X), unit_of(island))


def test_infinities_and_nan_must_be_in_the_same_places() -> None:
    special = np.array([np.inf, -np.inf, np.nan, 1.0])
    assert agree(special, special.copy())
    assert not agree(special, np.array([np.inf, np.inf, np.nan, 1.0]))
    assert not agree(special, np.array([np.inf, -np.inf, 0.0, 1.0]))
    assert distance(special, np.array([0.0, -np.inf, np.nan, 1.0])) == np.inf
    assert not agree(X, X[:1])


@pytest.mark.parametrize(
    ("name", "y"),
    (
        ("relu", np.where(X > 0, X, 0.0)),
        ("gelu", reference.gelu(X, "erf")),
        ("gelu_tanh", reference.gelu(X, "tanh")),
        ("gelu_sigmoid", X / (1.0 + np.exp(-1.702 * X))),
        ("silu", X / (1.0 + np.exp(-X))),
        ("sigmoid", 1.0 / (1.0 + np.exp(-X))),
        ("tanh", np.tanh(X)),
        ("relu_squared", np.where(X > 0, X * X, 0.0)),
        ("softplus", np.log(1.0 + np.exp(X))),
        ("elu", np.where(X > 0, X, np.exp(X) - 1.0)),
        ("leaky_relu", np.maximum(X, 0.01 * X)),
        ("mish", X * np.tanh(np.log(1.0 + np.exp(X)))),
    ),
)
def test_activations(name: str, y: np.ndarray) -> None:
    assert activation_of(X, y, DOUBLE) == name


def test_the_constants_of_gelu_may_have_eight_digits() -> None:
    by_hand = 0.5 * X * (1.0 + np.tanh(0.79788456 * (X + 0.044715 * X**3)))
    assert activation_of(X, by_hand, DOUBLE) == "gelu_tanh"


@pytest.mark.parametrize(
    "y",
    (
        X / (1.0 + np.exp(-1.5 * X)),
        0.5 * X * (1.0 + np.tanh(0.79788456 * (X + 0.0447 * X**3))),
        reference.silu(X)[::-1],
        np.where(X > 0, X, 0.02 * X),
    ),
    ids=("another factor", "another coefficient", "other places", "another slope"),
)
def test_functions_that_are_no_known_activation(y: np.ndarray) -> None:
    assert activation_of(X, y, DOUBLE) is None


def test_one_entry_behind_the_first_ones_refutes_an_activation() -> None:
    y = np.maximum(X, 0.0)
    y[-1, -1] += 1e-6
    assert activation_of(X, y, DOUBLE) is None


@pytest.mark.parametrize("factor", (8.0**-0.5, -3.0, 1e-4))
def test_a_factor(factor: float) -> None:
    assert factor_of(X, factor * X, DOUBLE) == pytest.approx(factor, rel=1e-12)


@pytest.mark.parametrize("y", (X, 0.0 * X, X + 1e-9, X * np.linspace(1, 2, 40)))
def test_no_factor(y: np.ndarray) -> None:
    assert factor_of(X, y, DOUBLE) is None


def test_a_factor_or_a_shift_beyond_what_a_number_holds_is_none_and_warns_of_nothing() -> None:
    large = np.array([1e308, -1e308, 1e308, 1e307, 5e307, -3e307, 2e307, 1e308])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert factor_of(large * 1e-310, large, DOUBLE) is None
        assert shift_of(large, -large, DOUBLE) is None
