"""The inputs of the backward pass of merging two parts of an attention."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Self

from veriformer import reference
from veriformer.conformance_tests.core.expected import Conventions, Expected
from veriformer.conformance_tests.core.when_needed import bounded_parts
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.gradients import SampledGradientInputs, drawn_cotangent
from veriformer.conformance_tests.operations.merging.cases import MergeCase
from veriformer.conformance_tests.operations.merging.inputs import MergeInputs
from veriformer.conformance_tests.operations.merging_backward.bounds import merge_backward_bounds
from veriformer.conformance_tests.rounding.precision import Precision


@dataclass(frozen=True, eq=False)
class MergeBackwardInputs(SampledGradientInputs, MergeInputs):
    """Two parts of an attention, and the gradients of the merged output and log-sum-exp."""

    operation: ClassVar[str] = "merge_attention_backward"
    grad_output: Array = field(kw_only=True)
    grad_lse: Array = field(kw_only=True)

    @classmethod
    def draw(cls, operation: str, case: MergeCase) -> Self:
        """Return the inputs that a case describes; both gradients are of the values' palette."""
        forward = MergeInputs.draw("merge_attention", case)
        shapes = (forward.output_a.shape, forward.lse_a.shape)
        grad_output, grad_lse = (drawn_cotangent(case, shape, place) for place, shape in enumerate(shapes))
        return cls(**vars(forward), grad_output=grad_output, grad_lse=grad_lse)

    @property
    def parts(self) -> dict[str, tuple[int, ...]]:
        """The gradients, each with the shape of its argument."""
        return {f"grad_{name}": array.shape for name, array in super().arguments().items()}

    def arguments(self) -> dict[str, Array]:
        return {**super().arguments(), **self.cotangents}

    def expected(self, conventions: Conventions) -> Expected:
        """Return the exact gradients and their error bounds, one after the other."""
        precision = Precision.of(self.dtype)
        gradients = reference.merge_attention_backward(**self.arguments())
        return bounded_parts(gradients, lambda: merge_backward_bounds(self, precision), precision, self.dtype)
