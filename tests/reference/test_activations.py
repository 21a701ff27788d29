from __future__ import annotations

import mpmath
import numpy as np
import pytest
from veriformer.reference import activate, gelu, relu, silu

UNIT_ROUNDOFF = 2.0**-53
SMALLEST = 2.0**-1074
ENTRIES = np.concatenate([np.linspace(-9.0, 9.0, 73), [-700.0, -38.0, -20.5, 20.5, 38.0, 700.0, 1e-300, -1e-8]])


def exact(x, function, form="erf"):
    x = mpmath.mpf(float(x))
    if function == "silu":
        return x / (1 + mpmath.exp(-x))
    if form == "sigmoid":
        return x / (1 + mpmath.exp(-mpmath.mpf("1.702") * x))
    if form == "tanh":
        # 1 + tanh(s) as 2/(1 + e^(−2s)): with the sum, 50 digits would not be enough at −38.
        inner = mpmath.sqrt(2 / mpmath.pi) * (x + mpmath.mpf("0.044715") * x**3)
        return x / (1 + mpmath.exp(-2 * inner))
    return x / 2 * mpmath.erfc(-x / mpmath.sqrt(2))


def argument_size(x, function, form):
    """The magnitude of what stands in the exponent: its rounding multiplies the result by e^(u · magnitude)."""
    magnitude = np.abs(x)
    if function == "silu":
        return magnitude
    if form == "erf":
        return magnitude**2
    return 1.702 * magnitude if form == "sigmoid" else 1.6 * (magnitude + 0.044715 * magnitude**3)


@pytest.mark.parametrize(
    ("function", "form"), [("silu", "erf"), ("gelu", "erf"), ("gelu", "tanh"), ("gelu", "sigmoid")]
)
def test_exact(function, form):
    """Every digit, on the left tail too: the errors are relative to the result."""
    computed = silu(ENTRIES) if function == "silu" else gelu(ENTRIES, form)
    for x, y in zip(ENTRIES, computed, strict=True):
        expected = exact(x, function, form)
        # Eight roundings inside the exponent, where x is negative and the exponential counts, and eight outside.
        inside = argument_size(x, function, form) if x < 0 else 1.0
        relative = float(np.expm1(min(8 * UNIT_ROUNDOFF * inside, 1.0))) + 8 * UNIT_ROUNDOFF
        assert abs(mpmath.mpf(float(y)) - expected) <= relative * abs(expected) + (4 + abs(x)) * SMALLEST, x


@pytest.mark.parametrize("form", ["erf", "tanh", "sigmoid"])
def test_extremes(form):
    far = np.array([-1e308, -1e5, 0.0, 1e5, 1e308])
    for result in (gelu(far, form), silu(far)):
        np.testing.assert_array_equal(result, [0.0, 0.0, 0.0, 1e5, 1e308])


def test_the_forms_of_gelu_differ_as_is_known():
    x = np.linspace(-8.0, 8.0, 4001)
    assert np.abs(gelu(x, "tanh") - gelu(x)).max() == pytest.approx(4.73e-4, rel=1e-2)
    assert np.abs(gelu(x, "sigmoid") - gelu(x)).max() == pytest.approx(2.03e-2, rel=1e-2)


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (2, 1, 3)])
@pytest.mark.parametrize("function", [gelu, silu, relu])
def test_any_shape(function, shape):
    x = np.random.default_rng(0).normal(size=shape)
    result = function(np.asarray(x))
    assert result.shape == shape
    assert result.dtype == np.float64


def test_relu():
    np.testing.assert_array_equal(relu(np.array([-2.0, -0.0, 0.0, 3.5])), [0.0, 0.0, 0.0, 3.5])


def test_activate_is_the_function_of_that_name():
    for form in ("erf", "tanh", "sigmoid"):
        np.testing.assert_array_equal(activate("gelu", ENTRIES, gelu_form=form), gelu(ENTRIES, form))
    np.testing.assert_array_equal(activate("silu", ENTRIES), silu(ENTRIES))
    np.testing.assert_array_equal(activate("relu", ENTRIES), relu(ENTRIES))
