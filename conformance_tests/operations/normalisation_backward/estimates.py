"""Rounding errors carried back through layer and RMS normalisation."""

from __future__ import annotations

import math

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.normalisation_backward.bounds import (
    Statistics,
    gain_bound,
    of_layer_norm,
    of_rms_norm,
    vector_bound,
)
from veriformer.conformance_tests.rounding.estimates import Estimate
from veriformer.conformance_tests.rounding.going_back import of_bias
from veriformer.conformance_tests.rounding.precision import Precision
from veriformer.reference.conventions import EpsPlacement, RmsNormGain


def layer_normalised_back(
    x: Estimate,
    gamma: Array,
    beta: Array,
    gradient: Estimate,
    eps: float,
    precision: Precision,
    *,
    eps_placement: EpsPlacement = "inside_root",
) -> tuple[Estimate, Estimate, Estimate]:
    """Return the gradients of vectors, gain and shift: see `normalisation_backward.bounds`."""
    settings = {"eps": eps, "eps_placement": eps_placement}
    of_x, of_gain, of_shift = reference.layer_norm_backward(x.value, gamma, beta, gradient.value, **settings)  # type: ignore[arg-type]
    statistics = of_layer_norm(x.value, eps, precision, inside_root=eps_placement == "inside_root", x_error=x.error)
    scaled, carried = gradient.value * gamma, gradient.error * np.abs(gamma)
    error = vector_bound(statistics, scaled, of_x, precision, centring=True, carried=carried)
    shift = of_bias(gradient, precision)
    return Estimate(of_x, error), _of_gain(statistics, gradient, of_gain, precision), Estimate(of_shift, shift.error)


def rms_normalised_back(
    x: Estimate, gamma: Array, gradient: Estimate, eps: float, precision: Precision, *, gain: RmsNormGain = "gamma"
) -> tuple[Estimate, Estimate]:
    """Return the gradients of vectors and gain of a root-mean-square norm: see `normalisation_backward.bounds`."""
    of_x, of_gain = reference.rms_norm_backward(x.value, gamma, gradient.value, eps=eps, gain=gain)
    factor = gamma if gain == "gamma" else 1.0 + gamma
    statistics = of_rms_norm(x.value, eps, precision, x.error)
    scaled, carried = gradient.value * factor, gradient.error * np.abs(factor)
    error = vector_bound(statistics, scaled, of_x, precision, centring=False, carried=carried)
    return Estimate(of_x, error), _of_gain(statistics, gradient, of_gain, precision)


def _of_gain(statistics: Statistics, gradient: Estimate, value: Array, precision: Precision) -> Estimate:
    """Return the gradient of a gain, which in 16 bits may be summed as a bias's is, partial sum by partial sum."""
    error = gain_bound(statistics, gradient.value, value, precision, gradient.error)
    largest = (np.abs(gradient.value) + gradient.error) * (
        np.abs(statistics.normalised) + statistics.normalised_error(precision)
    )
    terms = largest[..., 0].size
    stored = math.expm1(precision.stored_sums(terms - 1)) * largest.reshape(terms, -1).sum(axis=0)
    return Estimate(value, error + stored)
