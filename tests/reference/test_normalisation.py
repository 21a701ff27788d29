from __future__ import annotations

import mpmath
import numpy as np
import pytest
from veriformer.reference import layer_norm, rms_norm

UNIT_ROUNDOFF = 2.0**-53


def exact_layer_norm(row, gamma, beta, eps, eps_placement):
    numbers = [mpmath.mpf(float(x)) for x in row]
    mean = sum(numbers) / len(numbers)
    variance = sum((x - mean) ** 2 for x in numbers) / len(numbers)
    divisor = mpmath.sqrt(variance + eps) if eps_placement == "inside_root" else mpmath.sqrt(variance) + eps
    return [
        (x - mean) / divisor * mpmath.mpf(float(g)) + mpmath.mpf(float(b))
        for x, g, b in zip(numbers, gamma, beta, strict=True)
    ]


def rounding_bound(x, gamma, beta, eps):
    """Errors of the mean (E u of the mean magnitude), the centred vector, its mean square, the root, and the rest."""
    width = x.shape[-1]
    centred = np.abs(x - x.mean(axis=-1, keepdims=True))
    centred_error = width * UNIT_ROUNDOFF * np.abs(x).mean(axis=-1, keepdims=True) + UNIT_ROUNDOFF * centred
    variance = np.square(centred).mean(axis=-1, keepdims=True)
    variance_error = 2 * (centred * centred_error).mean(axis=-1, keepdims=True) + (width + 2) * UNIT_ROUNDOFF * variance
    variance_error += np.square(centred_error).mean(axis=-1, keepdims=True)
    # √ halves a relative error; both placements of eps only dilute it.
    divisor_error = variance_error / (2 * variance) + 3 * UNIT_ROUNDOFF
    deviation = np.sqrt(variance)
    scaled = np.abs(gamma) * (centred_error + centred * (divisor_error + 3 * UNIT_ROUNDOFF)) / deviation
    return 1.01 * (scaled + UNIT_ROUNDOFF * (np.abs(gamma) * centred / deviation + np.abs(beta)))


def one_pass(x, gamma, beta, eps):
    mean = x.mean(axis=-1, keepdims=True)
    variance = np.square(x).mean(axis=-1, keepdims=True) - np.square(mean)
    return (x - mean) / np.sqrt(variance + eps) * gamma + beta


def drawn(offset, spread=1.0, width=7):
    rng = np.random.default_rng(width)
    return rng.normal(size=(2, 3, width)) * spread + offset, rng.normal(size=width), rng.normal(size=width)


@pytest.mark.parametrize("eps_placement", ["inside_root", "outside_root"])
@pytest.mark.parametrize("eps", [0.0, 1e-12, 1e-5, 0.1])
@pytest.mark.parametrize(("offset", "spread"), [(0.0, 1.0), (5.0, 1e-3), (1e6, 1.0), (-3.0, 1e8)])
def test_exact(exact, eps_placement, eps, offset, spread):
    x, gamma, beta = drawn(offset, spread)
    got = layer_norm(x, gamma, beta, eps=eps, eps_placement=eps_placement)
    rows = [exact_layer_norm(row, gamma, beta, eps, eps_placement) for row in x.reshape(-1, 7)]
    expected = np.array(rows, dtype=object).reshape(x.shape)
    exact.assert_within(got, expected, rounding_bound(x, gamma, beta, eps), 1e-7)


def test_the_bound_refuses_the_one_pass_variance(exact):
    x, gamma, beta = drawn(1e6)
    rows = [exact_layer_norm(row, gamma, beta, 1e-5, "inside_root") for row in x.reshape(-1, 7)]
    expected = np.array(rows, dtype=object).reshape(x.shape)
    with pytest.raises(AssertionError, match="error"):
        exact.assert_within(one_pass(x, gamma, beta, 1e-5), expected, rounding_bound(x, gamma, beta, 1e-5), 1e-7)


@pytest.mark.parametrize("eps_placement", ["inside_root", "outside_root"])
def test_a_constant_vector_becomes_beta(eps_placement):
    _, gamma, beta = drawn(0.0)
    got = layer_norm(np.full((2, 7), 4.0), gamma, beta, eps=1e-5, eps_placement=eps_placement)
    np.testing.assert_array_equal(got, np.broadcast_to(beta, (2, 7)))


def test_width_one_becomes_beta():
    got = layer_norm(np.array([[3.0], [-8.0]]), np.array([2.0]), np.array([0.5]), eps=1e-5)
    np.testing.assert_array_equal(got, [[0.5], [0.5]])


@pytest.mark.parametrize("shape", [(7,), (0, 7), (2, 0, 7), (2, 1, 3, 7)])
def test_any_leading_axes(shape):
    _, gamma, beta = drawn(0.0)
    x = np.random.default_rng(0).normal(size=shape)
    assert layer_norm(x, gamma, beta, eps=1e-5).shape == shape


def exact_rms_norm(row, gamma, eps, gain):
    numbers = [mpmath.mpf(float(x)) for x in row]
    divisor = mpmath.sqrt(sum(x * x for x in numbers) / len(numbers) + mpmath.mpf(eps))
    factors = [mpmath.mpf(float(g)) + (gain == "one_plus_gamma") for g in gamma]
    return [x / divisor * factor for x, factor in zip(numbers, factors, strict=True)]


@pytest.mark.parametrize("gain", ["gamma", "one_plus_gamma"])
@pytest.mark.parametrize("eps", [0.0, 1e-12, 1e-5, 0.1])
@pytest.mark.parametrize(("offset", "spread"), [(0.0, 1.0), (5.0, 1e-3), (1e6, 1.0), (-3.0, 1e8), (0.0, 1e-3)])
def test_rms_norm_exact(exact, gain, eps, offset, spread):
    """Relative errors: half of (E + 2) u in the mean square, and seven roundings; nothing cancels but in 1 + gamma."""
    x, gamma, _ = drawn(offset, spread)
    got = rms_norm(x, gamma, eps=eps, gain=gain)
    rows = [exact_rms_norm(row, gamma, eps, gain) for row in x.reshape(-1, 7)]
    expected = np.array(rows, dtype=object).reshape(x.shape)
    bound = 1.01 * UNIT_ROUNDOFF * ((7 + 2) / 2 + 7) * np.abs(expected.astype(np.float64))
    exact.assert_within(got, expected, bound, 1e-13)


def test_rms_norm_of_the_zero_vector_is_zero_and_without_eps_undefined():
    x, gamma = np.zeros((2, 7)), np.arange(1.0, 8.0)
    np.testing.assert_array_equal(rms_norm(x, gamma, eps=1e-5), x)
    assert np.isnan(rms_norm(x, gamma, eps=0.0)).all()


def test_rms_norm_is_layer_norm_of_a_centred_vector():
    x, gamma, _ = drawn(3.0)
    centred = x - x.mean(axis=-1, keepdims=True)
    np.testing.assert_allclose(
        rms_norm(centred, gamma, eps=1e-3), layer_norm(x, gamma, np.zeros(7), eps=1e-3), rtol=1e-13, atol=1e-14
    )


@pytest.mark.parametrize("shape", [(7,), (0, 7), (2, 0, 7), (2, 1, 3, 7)])
def test_rms_norm_any_leading_axes(shape):
    _, gamma, _ = drawn(0.0)
    assert rms_norm(np.random.default_rng(0).normal(size=shape), gamma, eps=1e-5).shape == shape
