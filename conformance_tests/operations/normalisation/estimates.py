"""Rounding errors carried on through layer and RMS normalisation."""

from __future__ import annotations

from veriformer import reference
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.normalisation.bounds import layer_norm_bound, rms_norm_bound
from veriformer.conformance_tests.rounding.estimates import Estimate
from veriformer.conformance_tests.rounding.precision import Precision
from veriformer.reference.conventions import EpsPlacement, RmsNormGain


def layer_normalised(
    x: Estimate,
    gamma: Array,
    beta: Array,
    eps: float,
    precision: Precision,
    *,
    eps_placement: EpsPlacement = "inside_root",
) -> Estimate:
    """Return a layer normalisation: see `layer_norm_bound` and `carried_error`."""
    value = reference.layer_norm(x.value, gamma, beta, eps=eps, eps_placement=eps_placement)
    inside_root = eps_placement == "inside_root"
    error = layer_norm_bound(x.value, gamma, beta, eps, precision, x.error, inside_root=inside_root)
    return Estimate(value, error)


def rms_normalised(
    x: Estimate, gamma: Array, eps: float, precision: Precision, *, gain: RmsNormGain = "gamma"
) -> Estimate:
    """Return a root-mean-square normalisation, eps > 0: see `rms_norm_bound` and `carried_error`."""
    value = reference.rms_norm(x.value, gamma, eps=eps, gain=gain)
    factor = gamma if gain == "gamma" else 1.0 + gamma
    return Estimate(value, rms_norm_bound(x.value, factor, eps, precision, x.error))
