"""The inputs of the backward pass of rotary embeddings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.core.expected import Conventions, Expected
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.gradients import SampledGradientInputs, drawn_cotangent
from veriformer.conformance_tests.operations.rotary.cases import RotaryCase
from veriformer.conformance_tests.operations.rotary.estimates import rotated
from veriformer.conformance_tests.operations.rotary.inputs import DEFAULT_BASE, RotaryInputs
from veriformer.conformance_tests.rounding.estimates import Estimate
from veriformer.conformance_tests.rounding.precision import Precision


@dataclass(frozen=True, eq=False, kw_only=True)
class RotaryBackwardInputs(SampledGradientInputs, RotaryInputs):
    """Vectors and the gradients of the turned ones (B, H, L, D), positions (L,) or (B, L), and the keywords."""

    operation: ClassVar[str] = "rotary_embedding_backward"
    grad_output: Array

    @classmethod
    def draw(cls, operation: str, case: RotaryCase) -> Self:
        """Return the inputs that a case describes; the gradients are of the vectors' palette."""
        forward = RotaryInputs.draw(operation, case)
        return cls(**vars(forward), grad_output=drawn_cotangent(case, forward.x.shape))

    def both(self, index: tuple[Any, ...]) -> Self:
        """Return the vectors and gradients at an index."""
        return self.with_x(self.x[index]).with_cotangents(grad_output=self.grad_output[index])

    def expected(self, conventions: Conventions) -> Expected:
        """Return the exact gradients and their error bound.

        Turning back has the bound of turning, which does not depend on the sign of the sines: differentiated, a
        product with a cosine or sine is a product with it, and a sum of two passes on to both what two sums receive.
        """
        precision = Precision.of(self.dtype)
        base = DEFAULT_BASE if self.base is None else self.base
        pairing = conventions["rotary_pairing"]
        value = reference.rotary_embedding_backward(
            self.x, self.positions, self.grad_output, base=base, rotary_dim=self.rotary_dim, pairing=pairing
        )
        turned = rotated(
            Estimate.exact(self.grad_output),
            self.positions,
            precision,
            base=base,
            rotary_dim=self.rotary_dim,
            pairing=pairing,
        )
        return Expected(value, turned.error * precision.with_reference, np.ones(value.shape, dtype=bool))
