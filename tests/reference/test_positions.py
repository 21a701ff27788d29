from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from veriformer.reference import sinusoidal_frequencies, sinusoidal_positions

UNIT_ROUNDOFF = 2.0**-53


def exact_encoding(position, d_model):
    """PE[p, 2k] = sin(p / 10000^(2k/d)), PE[p, 2k + 1] = cos(p / 10000^(2k/d)), as the paper writes it."""
    row = []
    for k in range(d_model // 2):
        angle = position / mpmath.power(10000, mpmath.mpf(2 * k) / d_model)
        row += [mpmath.sin(angle), mpmath.cos(angle)]
    return row


def rounding_bound(position, d_model):
    """The exponent's two roundings are multiplied by ln 10000 in the power; the power, the angle: 3 u; sin: 2 u."""
    frequency = np.repeat(sinusoidal_frequencies(d_model), 2)
    exponent = np.repeat(2 * np.arange(d_model // 2) / d_model, 2)
    relative = (2 * exponent * math.log(10000) + 3) * UNIT_ROUNDOFF
    return 1.01 * (position * frequency * relative + 2 * UNIT_ROUNDOFF)


@pytest.mark.parametrize("d_model", [2, 4, 6, 34, 64])
def test_exact(exact, d_model):
    positions = [0, 1, 2, 3, 17, 511, 2047]
    encoding = sinusoidal_positions(2048, d_model)[positions]
    expected = np.array([exact_encoding(p, d_model) for p in positions], dtype=object)
    bound = np.array([rounding_bound(p, d_model) for p in positions])
    exact.assert_within(encoding, expected, bound, 1e-11)


@pytest.mark.parametrize("d_model", [2, 6, 10])
def test_concatenated_holds_all_sines_and_then_all_cosines(d_model):
    interleaved = sinusoidal_positions(9, d_model)
    concatenated = sinusoidal_positions(9, d_model, layout="concatenated")
    np.testing.assert_array_equal(concatenated[:, : d_model // 2], interleaved[:, 0::2])
    np.testing.assert_array_equal(concatenated[:, d_model // 2 :], interleaved[:, 1::2])


def test_position_zero():
    np.testing.assert_array_equal(sinusoidal_positions(1, 6), [[0, 1, 0, 1, 0, 1]])


def test_frequencies_fall_geometrically_from_one():
    frequencies = sinusoidal_frequencies(8)
    np.testing.assert_allclose(frequencies, [1.0, 0.1, 0.01, 0.001], rtol=1e-14)
    assert frequencies[0] == 1.0


def test_no_positions():
    assert sinusoidal_positions(0, 4).shape == (0, 4)
