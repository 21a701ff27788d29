"""Rounding errors carried on through feed-forward networks."""

from __future__ import annotations

from veriformer import reference
from veriformer.conformance_tests.operations.feed_forward.bounds import feed_forward_bound, gated_feed_forward_bound
from veriformer.conformance_tests.rounding.estimates import Estimate
from veriformer.conformance_tests.rounding.precision import Precision
from veriformer.reference.conventions import Activation, GeluForm
from veriformer.reference.weights import HasFeedForwardWeights, HasGatedFeedForwardWeights


def fed_forward(
    x: Estimate,
    weights: HasFeedForwardWeights,
    activation: Activation,
    precision: Precision,
    *,
    gelu_form: GeluForm = "erf",
) -> Estimate:
    """Return the result of a feed-forward network on x: see `feed_forward_bound`."""
    value = reference.feed_forward(x.value, weights, activation=activation, gelu_form=gelu_form)
    return Estimate(value, feed_forward_bound(x.value, weights, activation, gelu_form, precision, x.error))


def gated_fed_forward(
    x: Estimate,
    weights: HasGatedFeedForwardWeights,
    activation: Activation,
    precision: Precision,
    *,
    gelu_form: GeluForm = "erf",
) -> Estimate:
    """Return the result of a gated feed-forward network on x: see `gated_feed_forward_bound`."""
    value = reference.gated_feed_forward(x.value, weights, activation=activation, gelu_form=gelu_form)
    return Estimate(value, gated_feed_forward_bound(x.value, weights, activation, gelu_form, precision, x.error))
