"""Rotary embeddings are read off the heads before and after: pairs, width, base, first position and direction."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from veriformer.conformance_tests.recognition.turning import mixes_pairs, turned

D = 12
LENGTH = 7


def heads(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(2, 3, LENGTH, D))


def rotated(
    before: np.ndarray,
    *,
    pairing: str = "half",
    width: int = D,
    base: float = 10_000.0,
    start: float = 0.0,
    direction: int = 1,
    at_end: bool = False,
    frequencies: np.ndarray | None = None,
) -> np.ndarray:
    """Turn pair i at position p by direction · p · base^(−2i/width), as complex numbers."""
    after = before.copy()
    part = after[..., -width:] if at_end else after[..., :width]
    first, second = (
        (part[..., : width // 2], part[..., width // 2 :]) if pairing == "half" else (part[..., ::2], part[..., 1::2])
    )
    if frequencies is None:
        frequencies = base ** (-2.0 * np.arange(width // 2) / width)
    angles = direction * (start + np.arange(before.shape[2]))[:, None] * frequencies
    number = (first + 1j * second) * np.exp(1j * angles)
    first[...], second[...] = number.real, number.imag
    return after


@pytest.mark.parametrize("pairing", ("half", "interleaved"))
@pytest.mark.parametrize("base", (10_000.0, 500_000.0, 1_000_000.0, 100.0, 10_000.0**0.5 * 7))
@pytest.mark.parametrize("width", (D, 8, 4))
def test_pairing_width_and_base(pairing: str, base: float, width: int) -> None:
    found = turned(heads(), rotated(heads(), pairing=pairing, base=base, width=width))
    assert found is not None
    assert (found.pairing, found.width, found.at_end, found.direction) == (pairing, width, False, 1)
    assert found.base == pytest.approx(base, rel=1e-4)
    assert (found.start, found.factor) == (0.0, 1.0)


@pytest.mark.parametrize("changes", ({"start": 1.0}, {"start": 3.0}, {"direction": -1}, {"width": 6, "at_end": True}))
@pytest.mark.parametrize("pairing", ("half", "interleaved"))
def test_start_direction_and_end(pairing: str, changes: dict[str, Any]) -> None:
    found = turned(heads(), rotated(heads(), pairing=pairing, **changes))
    assert found is not None
    expected = {"pairing": pairing, "width": D, "base": 10_000.0, "start": 0.0, "direction": 1, "at_end": False}
    assert {name: getattr(found, name) for name in expected} == {**expected, **changes}


def test_a_table_of_float32_is_read_too() -> None:
    frequencies = (10_000.0 ** (-2.0 * np.arange(D // 2) / D)).astype(np.float32).astype(float)
    found = turned(heads(), rotated(heads(), frequencies=frequencies).astype(np.float32).astype(float))
    assert found is not None
    assert found.base == 10_000.0


def test_frequencies_that_are_no_geometric_sequence_have_no_base() -> None:
    frequencies = np.array([1.0, 0.7, 0.1, 0.09, 0.01, 0.002])
    found = turned(heads(), rotated(heads(), frequencies=frequencies))
    assert found is not None
    assert found.base is None
    assert np.allclose(found.frequencies, frequencies, atol=1e-6)


def test_a_factor_on_the_way_is_told() -> None:
    found = turned(heads(), 0.25 * rotated(heads()))
    assert found is not None
    assert found.factor == pytest.approx(0.25)
    assert found.base == 10_000.0


def without_minus(before: np.ndarray) -> np.ndarray:
    angles = np.arange(LENGTH)[:, None] * 10_000.0 ** (-2.0 * np.arange(D // 2) / D)
    first, second = before[..., : D // 2], before[..., D // 2 :]
    sines, cosines = np.sin(angles), np.cos(angles)
    return np.concatenate([first * cosines + second * sines, second * cosines + first * sines], axis=-1)


def other_layout(before: np.ndarray) -> np.ndarray:
    """Turn pairs of neighbours by the angles of halves."""
    angles = np.arange(LENGTH)[:, None] * 10_000.0 ** (-2.0 * np.arange(D // 2) / D)
    table = np.concatenate([angles, angles], axis=-1)
    swapped = np.stack([-before[..., 1::2], before[..., ::2]], axis=-1).reshape(before.shape)
    return before * np.cos(table) + swapped * np.sin(table)


@pytest.mark.parametrize(
    "after",
    (
        heads(),
        heads(1),
        np.random.default_rng(2).permuted(heads(), axis=-1),
        without_minus(heads()),
        other_layout(heads()),
        rotated(heads()) * np.linspace(1.0, 1.1, D),
        rotated(heads()) + 0.01,
        rotated(heads())[..., ::-1],
        np.zeros_like(heads()),
        rotated(heads().swapaxes(1, 2)).swapaxes(1, 2),
    ),
    ids=(
        "unchanged",
        "other numbers",
        "permuted",
        "the minus is missing",
        "angles of the other layout",
        "scaled by component",
        "shifted",
        "reversed",
        "zeros",
        "turned by the head",
    ),
)
def test_what_is_no_rotation_by_positions(after: np.ndarray) -> None:
    assert turned(heads(), after) is None


def test_one_pair_that_is_turned_is_no_whole_head() -> None:
    # Whatever rounding leaves of the others.
    before = heads()
    after = rotated(before, width=2) * (1.0 + 1e-16 * heads(1))
    found = turned(before, after)
    assert found is not None
    assert (found.width, found.base) == (2, None)


def test_a_factor_of_each_position_mixes_no_pairs() -> None:
    before = heads()
    factors = np.log2(2.0 + np.arange(LENGTH))[:, None]
    assert not mixes_pairs(before, before * factors)


def test_one_position_tells_nothing() -> None:
    assert turned(heads()[:, :, :1], heads(1)[:, :, :1]) is None


def test_mixing_of_pairs_that_is_no_rotation_is_seen() -> None:
    assert mixes_pairs(heads(), without_minus(heads()))
    assert mixes_pairs(heads(), rotated(heads(), pairing="interleaved"))
    # The same matrix at every position has nothing to do with positions, and other numbers with the pairs.
    assert not mixes_pairs(heads(), 2.0 * heads())
    assert not mixes_pairs(heads(), heads(1))
