"""Rounding errors of the gradients of feed-forward networks: those of each step, carried on from the last to the first.

The forward pass is computed again, or was kept, with its own errors: those of the hidden units before the activation
reach the derivative of the activation, those of the activated ones the gradient of the second matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from veriformer import reference
from veriformer.conformance_tests.operations.activations.bounds import activation_bound
from veriformer.conformance_tests.operations.activations_backward.estimates import activated_back
from veriformer.conformance_tests.rounding.estimates import Estimate, added, projected
from veriformer.conformance_tests.rounding.going_back import multiplied, of_bias, of_matrix, through_matrix
from veriformer.conformance_tests.rounding.precision import Precision
from veriformer.reference.weights import HasFeedForwardWeights, HasGatedFeedForwardWeights

Gradients = dict[str, Estimate]


@dataclass(frozen=True)
class Activated:
    """An activation function and the precision in which it is computed."""

    activation: Any
    form: Any
    precision: Precision

    def of(self, inner: Estimate) -> Estimate:
        """Return the activated hidden units."""
        value = reference.activate(self.activation, inner.value, gelu_form=self.form)
        return Estimate(value, activation_bound(self.activation, self.form, inner.value, self.precision, inner.error))

    def back(self, inner: Estimate, gradient: Estimate) -> Estimate:
        """Return the gradient of the hidden units before the activation."""
        return activated_back(self.activation, self.form, inner, gradient, self.precision)


def fed_back(
    x: Estimate, weights: HasFeedForwardWeights, gradient: Estimate, activated: Activated
) -> tuple[Estimate, Gradients]:
    """Return the gradients of the vectors and of each weight of a feed-forward network, biases where there are any."""
    precision = activated.precision
    inner = projected(x, weights.w_1, weights.b_1, precision)
    grad_inner = activated.back(inner, through_matrix(gradient, weights.w_2, precision))
    gradients = {
        "w_1": of_matrix(x, grad_inner, precision),
        "w_2": of_matrix(activated.of(inner), gradient, precision),
    }
    if weights.b_1 is not None:
        gradients["b_1"] = of_bias(grad_inner, precision)
    if weights.b_2 is not None:
        gradients["b_2"] = of_bias(gradient, precision)
    return through_matrix(grad_inner, weights.w_1, precision), gradients


def gated_fed_back(
    x: Estimate, weights: HasGatedFeedForwardWeights, gradient: Estimate, activated: Activated
) -> tuple[Estimate, Gradients]:
    """Return the gradients of the vectors and of each weight of a gated feed-forward network.

    The gradients of both branches are products of three factors, which may be multiplied in any order: each order
    rounds two products, and the error of one is carried on by the magnitude of the third.
    """
    precision = activated.precision
    gate, up = projected(x, weights.w_gate, None, precision), projected(x, weights.w_up, None, precision)
    active = activated.of(gate)
    grad_hidden = through_matrix(gradient, weights.w_down, precision)
    grad_gate = activated.back(gate, multiplied(grad_hidden, up, precision))
    grad_up = multiplied(grad_hidden, active, precision)
    through_gate, through_up = (
        through_matrix(one, weight, precision) for one, weight in ((grad_gate, weights.w_gate), (grad_up, weights.w_up))
    )
    return added(through_gate, through_up, precision), {
        "w_gate": of_matrix(x, grad_gate, precision),
        "w_up": of_matrix(x, grad_up, precision),
        "w_down": of_matrix(multiplied(active, up, precision), gradient, precision),
    }
