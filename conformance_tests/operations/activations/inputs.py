"""The inputs of activations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.core.expected import Conventions, Expected
from veriformer.conformance_tests.core.inputs import VectorInputs
from veriformer.conformance_tests.core.when_needed import bounded
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.values import filled
from veriformer.conformance_tests.drawing.vectors import VectorCase
from veriformer.conformance_tests.operations.activations.bounds import activation_bound
from veriformer.conformance_tests.rounding.precision import Precision


@dataclass(frozen=True, eq=False)
class ActivationInputs(VectorInputs):
    """Entries, (batch, rows, width), of `gelu` or `silu`."""

    operation: str
    dtype: str
    x: Array

    @classmethod
    def given(cls, operation: str, dtype: str, arguments: Mapping[str, Any]) -> ActivationInputs:
        """Return inputs made of given arguments."""
        return cls(operation, dtype, **arguments)

    @classmethod
    def draw(cls, operation: str, case: VectorCase) -> ActivationInputs:
        shape = (case.batch, case.rows, case.width)
        return cls(operation, case.dtype, filled(np.random.default_rng(case.seed), case, shape))

    def expected(self, conventions: Conventions) -> Expected:
        form = conventions["gelu_form"]
        activation: Any = self.operation
        value = reference.activate(activation, self.x, gelu_form=form)
        precision = Precision.of(self.dtype)
        return bounded(value, lambda: activation_bound(activation, form, self.x, precision), precision, self.dtype)
