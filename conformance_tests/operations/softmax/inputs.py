"""The inputs of softmax."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.core.expected import Conventions, Expected, NothingHidden
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.values import filled
from veriformer.conformance_tests.drawing.vectors import VectorCase
from veriformer.conformance_tests.operations.softmax.bounds import softmax_bound
from veriformer.conformance_tests.rounding.precision import Precision


@dataclass(frozen=True, eq=False)
class SoftmaxInputs(NothingHidden):
    """Logits, (batch, rows, width)."""

    dtype: str
    x: Array

    @classmethod
    def draw(cls, operation: str, case: VectorCase) -> SoftmaxInputs:
        """Return the inputs that a case describes."""
        generator = np.random.default_rng(case.seed)
        shape = (case.batch, case.rows, case.width)
        return cls(case.dtype, filled(generator, case, shape))

    @property
    def operation(self) -> str:
        """The operation's name."""
        return "softmax"

    def arguments(self) -> dict[str, Any]:
        """Return what the call is made with, by the interface's names."""
        return {"x": self.x}

    @property
    def result_shape(self) -> tuple[int, ...]:
        """The shape of a correct result."""
        return self.x.shape

    def take_samples(self, index: Array) -> SoftmaxInputs:
        """Return the samples at `index`."""
        return replace(self, x=self.x[index])

    def with_x(self, x: Array) -> SoftmaxInputs:
        """Return inputs with other logits."""
        return replace(self, x=x)

    def expected(self, conventions: Conventions) -> Expected:
        """Return the exact weights and their error bound."""
        value = reference.softmax(self.x)
        precision = Precision.under(self.dtype, conventions)
        allowed = softmax_bound(self.x, precision) * precision.with_reference
        return Expected(value, allowed, np.ones(value.shape, dtype=bool))
