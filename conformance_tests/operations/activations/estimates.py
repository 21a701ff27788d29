"""Rounding errors carried on through an activation."""

from __future__ import annotations

from veriformer import reference
from veriformer.conformance_tests.operations.activations.bounds import activation_bound
from veriformer.conformance_tests.rounding.estimates import Estimate
from veriformer.conformance_tests.rounding.precision import Precision
from veriformer.reference.conventions import Activation, GeluForm


def activated(x: Estimate, activation: Activation, precision: Precision, *, gelu_form: GeluForm = "erf") -> Estimate:
    """Return an activation function of each entry: see `activation_bound`."""
    value = reference.activate(activation, x.value, gelu_form=gelu_form)
    return Estimate(value, activation_bound(activation, gelu_form, x.value, precision, x.error))
