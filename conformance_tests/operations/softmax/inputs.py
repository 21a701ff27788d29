"""The inputs of softmax."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.core.expected import Conventions, Expected
from veriformer.conformance_tests.core.inputs import VectorInputs
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.values import filled
from veriformer.conformance_tests.drawing.vectors import VectorCase
from veriformer.conformance_tests.operations.softmax.bounds import softmax_bound
from veriformer.conformance_tests.rounding.precision import Precision


@dataclass(frozen=True, eq=False)
class SoftmaxInputs(VectorInputs):
    """Logits, (batch, rows, width)."""

    operation: ClassVar[str] = "softmax"
    dtype: str
    x: Array

    @classmethod
    def draw(cls, operation: str, case: VectorCase) -> SoftmaxInputs:
        generator = np.random.default_rng(case.seed)
        shape = (case.batch, case.rows, case.width)
        return cls(case.dtype, filled(generator, case, shape))

    def expected(self, conventions: Conventions) -> Expected:
        """Return the exact weights and their error bound."""
        value = reference.softmax(self.x)
        precision = Precision.under(self.dtype, conventions)
        allowed = softmax_bound(self.x, precision) * precision.with_reference
        return Expected(value, allowed, np.ones(value.shape, dtype=bool))
