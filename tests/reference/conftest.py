"""The oracles of the reference: plain loops over 50-digit numbers, and the rounding errors float64 may make."""

from __future__ import annotations

import math
from types import SimpleNamespace

import jaxtyping
import mpmath
import numpy as np
import pytest

UNIT_ROUNDOFF = 2.0**-53
SMALLEST = 2.0**-1074
# The bounds below are of first order in the unit roundoff; the products they leave out are far below one per cent.
HIGHER_ORDERS = 1.01

mpmath.mp.dps = 50


@pytest.fixture
def shapes_unchecked():
    """Let a wrong shape through to the reference's own checks, as it comes without a run-time type checker."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture
def exact():
    """Return the exact operations."""
    return SimpleNamespace(
        softmax=exact_softmax,
        visible=exact_visible,
        weights=exact_weights,
        weighted_sum=exact_weighted_sum,
        project=exact_project,
        assert_within=assert_within,
    )


@pytest.fixture
def rounding():
    """Return the rounding errors that a correct float64 computation may make."""
    return SimpleNamespace(unit=UNIT_ROUNDOFF, smallest=SMALLEST, weights=weight_rounding, attention=attention_rounding)


def exact_softmax(row):
    """exp(x_i) / Σ exp(x_j): 50-digit numbers have no largest exponent, so no maximum is subtracted."""
    exponentials = [mpmath.exp(mpmath.mpf(float(x))) for x in row]
    return [e / sum(exponentials) for e in exponentials]


def exact_visible(shape, mask=None, bias=None, is_causal=False, causal_alignment="top_left"):
    """Return, as a dictionary by (b, h, i), the list of keys that the query may see."""
    keys = {}
    offset = shape[3] - shape[2] if causal_alignment == "bottom_right" else 0
    for b, h, i in np.ndindex(shape[:3]):
        keys[b, h, i] = [
            j
            for j in range(shape[3])
            if (mask is None or np.broadcast_to(mask, shape)[b, h, i, j])
            and (bias is None or np.broadcast_to(bias, shape)[b, h, i, j] != -math.inf)
            and not (is_causal and j > i + offset)
        ]
    return keys


def exact_weights(query, key, *, bias=None, scale=None, empty_row="zeros", **visibility):
    """Weights by the formula, one row at a time, as an object array; `query` and `key` may hold mpf numbers."""
    (batch, heads, length, width), keys = query.shape, key.shape[2]
    shape = (batch, heads, length, keys)
    factor = 1 / mpmath.sqrt(width) if scale is None else mpmath.mpf(float(scale))
    weights = np.full(shape, mpmath.mpf(0), dtype=object)
    for (b, h, i), seen in exact_visible(shape, bias=bias, **visibility).items():
        exponentials = {}
        for j in seen:
            pairs = zip(query[b, h, i], key[b, h, j], strict=True)
            dot = sum((mpmath.mpf(q) * mpmath.mpf(k) for q, k in pairs), mpmath.mpf(0))
            extra = mpmath.mpf(0) if bias is None else mpmath.mpf(float(np.broadcast_to(bias, shape)[b, h, i, j]))
            exponentials[j] = mpmath.exp(factor * dot + extra)
        for j, exponential in exponentials.items():
            weights[b, h, i, j] = exponential / sum(exponentials.values())
        if not seen and empty_row != "zeros":
            weights[b, h, i, :] = mpmath.nan if empty_row == "nan" else mpmath.mpf(1) / keys
    return weights


def exact_weighted_sum(weights, value):
    """Σ_j w_ij v_j by loops, as an object array."""
    output = np.full((*weights.shape[:3], value.shape[3]), mpmath.mpf(0), dtype=object)
    for b, h, i, d in np.ndindex(output.shape):
        for j in range(weights.shape[3]):
            output[b, h, i, d] += weights[b, h, i, j] * mpmath.mpf(value[b, h, j, d])
    return output


def exact_project(x, weight, bias):
    """Y = x W + b for x (B, L, n), by loops, as an object array."""
    output = np.full((*x.shape[:2], weight.shape[1]), mpmath.mpf(0), dtype=object)
    for b, i, m in np.ndindex(output.shape):
        terms = [mpmath.mpf(x[b, i, n]) * mpmath.mpf(weight[n, m]) for n in range(weight.shape[0])]
        output[b, i, m] = sum(terms, mpmath.mpf(0)) + (0 if bias is None else mpmath.mpf(bias[m]))
    return output


def weight_rounding(query, key, *, bias=None, scale=None, inherited=0.0):
    """Relative error of each weight, one number for a row: shape (B, H, L, 1).

    A logit is a sum of D products (D u, in any order), a scale of two roundings, its product and a sum with the bias:
    (D + 5) u of the sum of magnitudes, plus what its operands `inherited`. Subtracting the maximum doubles that and
    adds one rounding of the difference; exp is good to 2 u; the denominator has the same error and S u of its own.
    """
    width, keys = query.shape[-1], key.shape[-2]
    factor = 1.0 / math.sqrt(width) if scale is None else scale
    magnitude = factor * (np.abs(query) @ np.abs(key).swapaxes(-1, -2))
    if bias is not None:
        magnitude = magnitude + np.where(np.isfinite(bias), np.abs(bias), 0.0)
    largest = magnitude.max(axis=-1, keepdims=True)
    logit = ((width + 5) * UNIT_ROUNDOFF + inherited) * largest
    exponential = 2 * logit + 2 * UNIT_ROUNDOFF * largest + 2 * UNIT_ROUNDOFF
    return HIGHER_ORDERS * (2 * exponential + (keys + 1) * UNIT_ROUNDOFF)


def attention_rounding(query, key, value, weights, *, inherited=0.0, **options):
    """Absolute error of each output: that of the weights, and (S + 1) u for the weighted sum.

    `weights` are the exact ones, `inherited` the relative error of query, key and value beside their magnitudes.
    """
    relative = weight_rounding(query, key, inherited=2 * inherited, **options)
    sure = np.nan_to_num(weights.astype(np.float64)) @ np.abs(value)
    return (relative + inherited + HIGHER_ORDERS * (value.shape[2] + 1) * UNIT_ROUNDOFF) * sure + SMALLEST


def assert_within(computed, expected, bound, ceiling):
    """Check every element against its bound, and every bound against a ceiling beyond which it proves nothing."""
    assert computed.shape == expected.shape
    assert computed.dtype == np.float64
    bounds = np.broadcast_to(bound, computed.shape)
    assert np.all(bounds <= ceiling)
    for index in np.ndindex(computed.shape):
        if mpmath.isnan(expected[index]):
            assert np.isnan(computed[index]), index
            continue
        error = abs(mpmath.mpf(float(computed[index])) - expected[index])
        assert error <= bounds[index], f"{index}: {computed[index]!r}, error {float(error)}, bound {bounds[index]}"
