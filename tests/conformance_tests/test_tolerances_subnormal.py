"""The bounds of norms allow for processors that take subnormal numbers for zero, and for nothing else besides."""

from __future__ import annotations

import numpy as np
import pytest
from veriformer.conformance_tests.operations.normalisation.bounds import layer_norm_bound, rms_norm_bound
from veriformer.conformance_tests.rounding.precision import SMALLEST_NORMAL, Precision
from veriformer.reference import layer_norm, rms_norm

EPS = 1e-5
TINY = SMALLEST_NORMAL["float32"]
SINGLE = Precision.of("float32")
_SIGNS = np.array([1.0, -1.0, 1.0, -1.0, 1.0])
VECTORS = {
    "some subnormal": np.array([0.25 * TINY, -0.99 * TINY, 0.02, -0.01, 0.03]),
    "all subnormal": 0.9 * TINY * _SIGNS,
    "differences subnormal": 8.0 * TINY + 0.5 * TINY * _SIGNS,
    "one normal": np.array([1.0, 0.5 * TINY, 0.0, -0.5 * TINY, TINY]),
    "none": np.array([0.3, -1.2, 0.7, 2.0, -0.1]),
}
GAINS = {
    "ordinary": np.array([3.0, -2.0, 3.0, 1.0, 3.0]),
    "subnormal": np.array([0.9 * TINY, 1.0, 0.5 * TINY, 2.0, -0.9 * TINY]),
}


def flushed(array: np.ndarray) -> np.ndarray:
    """Round to float32, and to zero what is subnormal there."""
    single = np.asarray(array, dtype=np.float32)
    return np.where(np.abs(single) < np.float32(TINY), np.float32(0.0), single)


def rms_norm_without_subnormals(x: np.ndarray, gain: np.ndarray) -> np.ndarray:
    x, gain = flushed(x), flushed(gain)
    root = flushed(np.sqrt(flushed(np.mean(flushed(x * x))) + np.float32(EPS)))
    return flushed(flushed(x * flushed(1.0 / root)) * gain)


def layer_norm_without_subnormals(x: np.ndarray, gain: np.ndarray, shift: np.ndarray) -> np.ndarray:
    x, gain, shift = flushed(x), flushed(gain), flushed(shift)
    centred = flushed(x - flushed(np.mean(x)))
    root = flushed(np.sqrt(flushed(np.mean(flushed(centred * centred))) + np.float32(EPS)))
    return flushed(flushed(flushed(centred * flushed(1.0 / root)) * gain) + shift)


@pytest.mark.parametrize("gain", GAINS)
@pytest.mark.parametrize("vector", VECTORS)
def test_a_processor_without_subnormal_numbers_is_within_the_bounds(vector, gain):
    x, gain = np.float32(VECTORS[vector]).astype(float)[None], np.float32(GAINS[gain]).astype(float)
    error = np.abs(rms_norm_without_subnormals(x, gain) - rms_norm(x, gain, eps=EPS))
    assert (error <= rms_norm_bound(x, gain, EPS, SINGLE)).all()
    for shift in (np.zeros(5), np.full(5, 0.5 * TINY)):
        error = np.abs(layer_norm_without_subnormals(x, gain, shift) - layer_norm(x, gain, shift, eps=EPS))
        assert (error <= layer_norm_bound(x, gain, shift, EPS, SINGLE)).all()


@pytest.mark.parametrize("vector", ["some subnormal", "all subnormal"])
def test_a_number_that_is_lost_though_it_is_normal_is_not_within_the_bounds(vector):
    x, gain = np.float32(VECTORS[vector]).astype(float)[None] * 8.0, GAINS["ordinary"]
    lost = np.where(np.abs(x) < 8.0 * TINY, 0.0, x)
    assert (
        np.abs(rms_norm(lost, gain, eps=EPS) - rms_norm(x, gain, eps=EPS)) > rms_norm_bound(x, gain, EPS, SINGLE)
    ).any()


def test_where_nothing_is_subnormal_nothing_is_flushed():
    assert not SINGLE.flushed(np.array([0.0, TINY, -TINY, 1.0, np.inf])).any()
    assert SINGLE.flushed(np.array([-0.5 * TINY]))[0] == 0.5 * TINY
    # No processor flushes those of float16.
    assert not Precision.of("float16").flushed(np.array([2.0**-24, 2.0**-15])).any()
