"""The inputs of the backward pass of dropout."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.dropout.cases import DropoutCase
from veriformer.conformance_tests.operations.dropout.inputs import DropoutInputs
from veriformer.conformance_tests.operations.gradients import SampledGradientInputs, drawn_cotangent


@dataclass(frozen=True, eq=False, kw_only=True)
class DropoutBackwardInputs(SampledGradientInputs, DropoutInputs):
    """Entries and the gradients of their results, (batch, rows, width), with the rate, the seed and the flag."""

    operation: ClassVar[str] = "dropout_backward"
    grad_output: Array

    @classmethod
    def draw(cls, operation: str, case: DropoutCase) -> Self:
        """Return the inputs that a case describes; the gradient of the result is of the entries' palette."""
        forward = DropoutInputs.draw(operation, case)
        return cls(**vars(forward), grad_output=drawn_cotangent(case, forward.x.shape))

    @property
    def entries(self) -> Array:
        """The gradients, which pass or do not."""
        return self.grad_output

    def with_entries(self, entries: Array) -> Self:
        """Return inputs with other gradients, rounded to the dtype."""
        return self.with_cotangents(grad_output=entries)

    @property
    def forward(self) -> DropoutInputs:
        """The inputs of the forward pass."""
        return DropoutInputs(self.dtype, self.x, self.rate, self.seed, self.training)
