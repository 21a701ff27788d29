"""Rounding error of feed-forward networks: that of their products, propagated through the activation."""

from __future__ import annotations

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.activations.bounds import activation_bound
from veriformer.conformance_tests.rounding.precision import Precision
from veriformer.conformance_tests.rounding.projections import projection_bound
from veriformer.reference.weights import HasFeedForwardWeights, HasGatedFeedForwardWeights


def feed_forward_bound(
    x: Array,
    weights: HasFeedForwardWeights,
    activation: str,
    form: str,
    precision: Precision,
    x_error: Array | None = None,
) -> Array:
    """Return the error of activation(x W_1 + b_1) W_2 + b_2, entry by entry, whose x may be wrong by `x_error`.

    The first product errs as a projection does, the activation adds its own error and propagates the first's, and the
    second product propagates both.
    """
    hidden, hidden_error = _activated(x, weights.w_1, weights.b_1, activation, form, precision, x_error)
    return projection_bound(hidden, weights.w_2, weights.b_2, precision, hidden_error)


def gated_feed_forward_bound(
    x: Array,
    weights: HasGatedFeedForwardWeights,
    activation: str,
    form: str,
    precision: Precision,
    x_error: Array | None = None,
) -> Array:
    """Return the error of (activation(x W_gate) ⊙ x W_up) W_down, entry by entry, whose x may be wrong by `x_error`.

    A product of factors that err by δa and δb errs by ε = |a| δb + |b| δa + δa δb, and is rounded: u (|a b| + ε) more.
    """
    gate, gate_error = _activated(x, weights.w_gate, None, activation, form, precision, x_error)
    up, up_error = x @ weights.w_up, projection_bound(x, weights.w_up, None, precision, x_error)
    product = gate * up
    error = np.abs(gate) * up_error + np.abs(up) * gate_error + gate_error * up_error
    error += precision.stored * (np.abs(product) + error) + precision.tiny
    return projection_bound(product, weights.w_down, None, precision, error)


def _activated(
    x: Array,
    weight: Array,
    bias: Array | None,
    activation: str,
    form: str,
    precision: Precision,
    x_error: Array | None,
) -> tuple[Array, Array]:
    """Return the activation of a projection, and its error."""
    projected = x @ weight if bias is None else x @ weight + bias
    error = projection_bound(x, weight, bias, precision, x_error)
    value = reference.activate(activation, projected, gelu_form=form)  # type: ignore[arg-type]
    return value, activation_bound(activation, form, projected, precision, error)
