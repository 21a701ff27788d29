from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from veriformer.reference import alibi_bias, alibi_slopes, relative_position_bucket

UNIT_ROUNDOFF = 2.0**-53


def exact_slopes(count):
    """The recursion of the paper's code, in exponents: fractions t of the slopes 2^(−t)."""
    if count & (count - 1) == 0:
        return [Fraction(8 * (head + 1), count) for head in range(count)]
    power = 2 ** (count.bit_length() - 1)
    return exact_slopes(power) + exact_slopes(2 * power)[0::2][: count - power]


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 20, 25, 64])
def test_slopes_are_exact(exact, count):
    expected = np.array([mpmath.power(2, -mpmath.mpf(t.numerator) / t.denominator) for t in exact_slopes(count)])
    # Exponents are multiples of a power of two, hence exact; their power is good to 2 u.
    exact.assert_within(alibi_slopes(count), expected, 2 * UNIT_ROUNDOFF * 1.0, 1e-15)


def test_the_slopes_that_the_paper_lists_for_eight_heads():
    np.testing.assert_array_equal(alibi_slopes(8), [2.0**-k for k in range(1, 9)])


def test_slopes_added_for_twelve_heads_lie_between_those_of_eight():
    np.testing.assert_allclose(alibi_slopes(12)[8:], [2.0 ** -(k + 0.5) for k in range(4)], rtol=1e-15)


@pytest.mark.parametrize(("queries", "keys"), [(1, 1), (4, 4), (2, 5), (1, 6), (5, 2)])
def test_the_bias_by_loops(queries, keys):
    slopes = alibi_slopes(6)
    bias = alibi_bias(6, queries, keys)
    assert bias.shape == (6, queries, keys)
    for h, r, j in np.ndindex(bias.shape):
        assert bias[h, r, j] == -slopes[h] * ((r + keys - queries) - j)


def test_no_bias_is_a_negative_zero():
    assert not np.any(np.signbit(alibi_bias(4, 3, 3)[:, [0, 1, 2], [0, 1, 2]]))


def test_an_empty_table():
    assert alibi_bias(2, 0, 3).shape == (2, 0, 3)


def exact_bucket(distance, *, bidirectional, num_buckets, max_distance):
    """Return the bucket of T5's formula and whether it lies on an edge, by powers of integers instead of logarithms.

    ⌊ln(n/h) / ln(D/h) · K⌋ is the largest k with (D/h)^k ≤ (n/h)^K.
    """
    first = 0
    if bidirectional:
        num_buckets //= 2
        first = num_buckets if distance > 0 else 0
        n = abs(distance)
    else:
        n = max(-distance, 0)
    half = num_buckets // 2
    if n < half:
        return first + n, False
    spread = num_buckets - half
    grown, step = Fraction(n, half) ** spread, Fraction(max_distance, half)
    k = 0
    while k < spread and step ** (k + 1) <= grown:
        k += 1
    on_edge = n != half and any(step**e == grown for e in range(spread))
    return first + min(half + k, num_buckets - 1), on_edge


SETTINGS = [
    {"bidirectional": True, "num_buckets": 32, "max_distance": 128},
    {"bidirectional": False, "num_buckets": 32, "max_distance": 128},
    {"bidirectional": True, "num_buckets": 8, "max_distance": 16},
    {"bidirectional": False, "num_buckets": 6, "max_distance": 50},
    {"bidirectional": True, "num_buckets": 20, "max_distance": 500},
    {"bidirectional": False, "num_buckets": 7, "max_distance": 30},
    {"bidirectional": False, "num_buckets": 2, "max_distance": 5},
    {"bidirectional": True, "num_buckets": 4, "max_distance": 3},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_buckets_are_exact_off_the_edges(settings):
    distances = np.arange(-2 * settings["max_distance"], 2 * settings["max_distance"] + 1)
    expected = [exact_bucket(int(d), **settings) for d in distances]
    buckets = relative_position_bucket(distances, **settings)
    wrong = [
        (int(d), int(got), want)
        for d, got, (want, on_edge) in zip(distances, buckets, expected, strict=True)
        if got != want and not on_edge
    ]
    assert wrong == []
    assert sum(on_edge for _, on_edge in expected) < len(expected) / 10


def test_t5_has_edges_that_are_powers_of_two():
    """With 32 buckets of one direction and 128 the edges lie at 16 · 2^(3k/16): only 16 and 128 are whole."""
    one_direction = {"bidirectional": False, "num_buckets": 32, "max_distance": 128}
    edges = [n for n in range(1, 128) if exact_bucket(-n, **one_direction)[1]]
    both = {"bidirectional": True, "num_buckets": 32, "max_distance": 128}
    assert edges == []
    assert [n for n in range(1, 128) if exact_bucket(n, **both)[1]] == [16, 32, 64]


def test_buckets_of_any_shape():
    distances = np.arange(-12, 12).reshape(2, 3, 4)
    flat = relative_position_bucket(distances.reshape(-1))
    np.testing.assert_array_equal(relative_position_bucket(distances), flat.reshape(2, 3, 4))
    assert relative_position_bucket(distances).dtype == np.int64
    assert relative_position_bucket(np.array(3)).shape == ()
