from __future__ import annotations

import mpmath
import numpy as np
import pytest
from veriformer.reference import pair_places, rotary_embedding, rotary_frequencies

UNIT_ROUNDOFF = 2.0**-53


def drawn(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def exact_turn(vector, position, pairs, base):
    """Multiply x_a + i x_b by e^(i p θ_k), pair by pair, as complex numbers of 50 digits."""
    row = [mpmath.mpf(float(component)) for component in vector]
    for k, (a, b) in enumerate(pairs):
        angle = int(position) / mpmath.power(mpmath.mpf(base), mpmath.mpf(2 * k) / (2 * len(pairs)))
        turned = mpmath.mpc(row[a], row[b]) * mpmath.expj(angle)
        row[a], row[b] = turned.real, turned.imag
    return row


def listed_pairs(width, pairing):
    """The pairs of a vector of `width` components, written out."""
    if pairing == "interleaved":
        return [(c, c + 1) for c in range(0, width, 2)]
    return [(c, c + width // 2) for c in range(width // 2)]


def rounding_bound(x, positions, width, base):
    """exponent: 2 u, times ln base; power, angle: 3 u; sine and cosine: 2 u; two products and a sum: 2 u."""
    exponent = 2 * (width // 2) / width * abs(np.log(base))
    angle = positions[..., None] * np.ones(width // 2)
    relative = (2 * exponent + 3) * UNIT_ROUNDOFF
    return 1.01 * float(np.max(angle * relative + 6 * UNIT_ROUNDOFF) * 2 * np.max(np.abs(x)))


@pytest.mark.parametrize("pairing", ["interleaved", "half"])
@pytest.mark.parametrize(("width", "turned"), [(2, None), (4, None), (6, 4), (10, 2), (16, None)])
@pytest.mark.parametrize("base", [10000.0, 7.5])
def test_exact(exact, pairing, width, turned, base):
    x = drawn(2, 2, 3, width)
    positions = np.array([[0, 1, 2], [511, 7, 2047]])
    result = rotary_embedding(x, positions, base=base, rotary_dim=turned, pairing=pairing)
    pairs = listed_pairs(turned or width, pairing)
    expected = np.empty(x.shape, dtype=object)
    for b, h, i in np.ndindex(x.shape[:3]):
        expected[b, h, i] = exact_turn(x[b, h, i], positions[b, i], pairs, base)
    exact.assert_within(result, expected, rounding_bound(x, positions, turned or width, base), 1e-10)


def test_shared_positions_are_those_of_every_sample():
    x, positions = drawn(3, 2, 4, 6), np.array([4, 0, 9, 1])
    everywhere = np.tile(positions, (3, 1))
    np.testing.assert_array_equal(rotary_embedding(x, positions), rotary_embedding(x, everywhere))


def test_what_does_not_turn_is_copied():
    x = drawn(1, 2, 3, 8)
    turned = rotary_embedding(x, np.array([1, 2, 3]), rotary_dim=4)
    np.testing.assert_array_equal(turned[..., 4:], x[..., 4:])
    assert not np.any(turned[..., :4] == x[..., :4])


def test_position_zero_copies():
    x = drawn(1, 2, 3, 8)
    np.testing.assert_array_equal(rotary_embedding(x, np.zeros(3, int)), x)


def test_the_pairings_are_one_rotation_of_reordered_components():
    x, positions = drawn(1, 2, 3, 8), np.array([1, 5, 2])
    order = [0, 2, 4, 6, 1, 3, 5, 7]
    half = rotary_embedding(x[..., order], positions, pairing="half")
    np.testing.assert_allclose(half, rotary_embedding(x, positions)[..., order], rtol=0, atol=1e-15)


def test_a_quarter_turn_goes_from_the_first_to_the_second():
    """The direction: with θ_0 = 1, position 1 turns (1, 0) to (cos 1, sin 1), not to (cos 1, −sin 1)."""
    turned = rotary_embedding(np.array([[[[1.0, 0.0]]]]), np.array([1]))
    np.testing.assert_allclose(turned[0, 0, 0], [np.cos(1), np.sin(1)], rtol=1e-15)


def test_frequencies_fall_geometrically_from_one():
    np.testing.assert_allclose(rotary_frequencies(8), [1.0, 0.1, 0.01, 0.001], rtol=1e-14)
    np.testing.assert_allclose(rotary_frequencies(4, base=100.0), [1.0, 0.1], rtol=1e-14)


def test_pair_places():
    assert pair_places(6, "interleaved") == (slice(0, 6, 2), slice(1, 6, 2))
    assert pair_places(6, "half") == (slice(0, 3), slice(3, 6))
