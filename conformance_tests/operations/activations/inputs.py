"""The inputs of activations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.core.expected import Conventions, Expected, NothingHidden
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.values import filled, round_to_dtype
from veriformer.conformance_tests.drawing.vectors import VectorCase
from veriformer.conformance_tests.operations.activations.bounds import activation_bound
from veriformer.conformance_tests.rounding.precision import Precision


@dataclass(frozen=True, eq=False)
class ActivationInputs(NothingHidden):
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
        """Return the inputs that a case describes."""
        shape = (case.batch, case.rows, case.width)
        return cls(operation, case.dtype, filled(np.random.default_rng(case.seed), case, shape))

    def arguments(self) -> dict[str, Any]:
        """Return what the call is made with, by the interface's names."""
        return {"x": self.x}

    @property
    def result_shape(self) -> tuple[int, ...]:
        """The shape of a correct result."""
        return self.x.shape

    def take_samples(self, index: Array) -> ActivationInputs:
        """Return the samples at `index`."""
        return replace(self, x=self.x[index])

    def with_x(self, x: Array) -> ActivationInputs:
        """Return inputs with other entries, rounded to what the dtype holds."""
        return replace(self, x=round_to_dtype(x, self.dtype))

    def expected(self, conventions: Conventions) -> Expected:
        """Return the exact result and its error bound."""
        form = conventions["gelu_form"]
        activation: Any = self.operation
        value = reference.activate(activation, self.x, gelu_form=form)
        precision = Precision.of(self.dtype)
        bound = activation_bound(activation, form, self.x, precision)
        return Expected(value, bound * precision.with_reference, np.ones(value.shape, dtype=bool))
