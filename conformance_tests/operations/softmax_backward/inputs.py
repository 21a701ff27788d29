"""The inputs of the backward pass of softmax."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

from veriformer import reference
from veriformer.conformance_tests.core.expected import Conventions, Expected
from veriformer.conformance_tests.core.when_needed import bounded
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.vectors import VectorCase
from veriformer.conformance_tests.operations.gradients import SampledGradientInputs, drawn_cotangent
from veriformer.conformance_tests.operations.softmax.inputs import SoftmaxInputs
from veriformer.conformance_tests.operations.softmax_backward.bounds import softmax_backward_bound
from veriformer.conformance_tests.rounding.precision import Precision


@dataclass(frozen=True, eq=False)
class SoftmaxBackwardInputs(SampledGradientInputs, SoftmaxInputs):
    """Logits and the gradients of their weights, (batch, rows, width)."""

    operation: ClassVar[str] = "softmax_backward"
    grad_output: Array

    @classmethod
    def draw(cls, operation: str, case: VectorCase) -> Self:
        """Return the inputs that a case describes; the gradient of the weights is of the logits' palette."""
        forward = SoftmaxInputs.draw(operation, case)
        return cls(**vars(forward), grad_output=drawn_cotangent(case, forward.x.shape))

    def expected(self, conventions: Conventions) -> Expected:
        """Return the exact gradient and its error bound."""
        value = reference.softmax_backward(self.x, self.grad_output)
        precision = Precision.under(self.dtype, conventions)
        return bounded(
            value, lambda: softmax_backward_bound(self.x, self.grad_output, precision), precision, self.dtype
        )
