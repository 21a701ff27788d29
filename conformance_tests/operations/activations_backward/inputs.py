"""The inputs of the backward passes of activations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from veriformer import reference
from veriformer.conformance_tests.core.expected import Conventions, Expected
from veriformer.conformance_tests.core.when_needed import bounded
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.vectors import VectorCase
from veriformer.conformance_tests.operations.activations.inputs import ActivationInputs
from veriformer.conformance_tests.operations.activations_backward.bounds import activation_backward_bound
from veriformer.conformance_tests.operations.gradients import SampledGradientInputs, drawn_cotangent
from veriformer.conformance_tests.rounding.precision import Precision


@dataclass(frozen=True, eq=False)
class ActivationBackwardInputs(SampledGradientInputs, ActivationInputs):
    """Entries and the gradients of their results, (batch, rows, width), of `gelu_backward` or `silu_backward`."""

    grad_output: Array

    @classmethod
    def given(cls, operation: str, dtype: str, arguments: Mapping[str, Any]) -> ActivationBackwardInputs:
        """Return inputs made of given arguments."""
        return cls(operation, dtype, **arguments)

    @classmethod
    def draw(cls, operation: str, case: VectorCase) -> Self:
        """Return the inputs that a case describes; the gradient of the result is of the entries' palette."""
        forward = ActivationInputs.draw(operation, case)
        return cls(**vars(forward), grad_output=drawn_cotangent(case, forward.x.shape))

    def expected(self, conventions: Conventions) -> Expected:
        """Return the exact gradient and its error bound."""
        form, activation = conventions["gelu_form"], self.operation.removesuffix("_backward")
        if activation == "silu":
            value = reference.silu_backward(self.x, self.grad_output)
        else:
            value = reference.gelu_backward(self.x, self.grad_output, form)
        precision = Precision.of(self.dtype)

        def bound() -> Array:
            return activation_backward_bound(activation, form, self.x, self.grad_output, value, precision)

        return bounded(value, bound, precision, self.dtype)
