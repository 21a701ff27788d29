"""Rounding errors carried back through layer normalisation."""

from __future__ import annotations

import math

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.normalisation_backward.bounds import (
    gain_bound,
    of_layer_norm,
    vector_bound,
)
from veriformer.conformance_tests.rounding.estimates import Estimate
from veriformer.conformance_tests.rounding.going_back import of_bias
from veriformer.conformance_tests.rounding.precision import Precision
from veriformer.reference.conventions import EpsPlacement


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
    """Return the gradients of vectors, gain and shift: see `normalisation_backward.bounds`.

    In 16 bits the gain's gradient may be summed as a bias's is, partial sum by partial sum.
    """
    settings = {"eps": eps, "eps_placement": eps_placement}
    of_x, of_gain, of_shift = reference.layer_norm_backward(x.value, gamma, beta, gradient.value, **settings)  # type: ignore[arg-type]
    statistics = of_layer_norm(x.value, eps, precision, inside_root=eps_placement == "inside_root", x_error=x.error)
    scaled, carried = gradient.value * gamma, gradient.error * np.abs(gamma)
    error = vector_bound(statistics, scaled, of_x, precision, centring=True, carried=carried)
    shift = of_bias(gradient, precision)
    gain = gain_bound(statistics, gradient.value, of_gain, precision, gradient.error)
    largest = (np.abs(gradient.value) + gradient.error) * (
        np.abs(statistics.normalised) + statistics.normalised_error(precision)
    )
    terms = largest[..., 0].size
    stored = math.expm1(precision.stored_sums(terms - 1)) * largest.reshape(terms, -1).sum(axis=0)
    return Estimate(of_x, error), Estimate(of_gain, gain + stored), Estimate(of_shift, shift.error)
