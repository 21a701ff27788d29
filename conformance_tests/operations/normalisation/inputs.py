"""The inputs of layer and RMS normalisation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.core.expected import Conventions, Expected
from veriformer.conformance_tests.core.inputs import VectorInputs
from veriformer.conformance_tests.core.when_needed import bounded
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.values import filled, positive_fill
from veriformer.conformance_tests.drawing.vectors import VectorCase
from veriformer.conformance_tests.operations.normalisation.bounds import layer_norm_bound, rms_norm_bound
from veriformer.conformance_tests.rounding.precision import Precision


@dataclass(frozen=True, eq=False)
class LayerNormInputs(VectorInputs):
    """Vectors (batch, rows, width), gain, shift and eps."""

    operation: ClassVar[str] = "layer_norm"
    dtype: str
    x: Array
    gamma: Array
    beta: Array
    eps: float

    @classmethod
    def draw(cls, operation: str, case: VectorCase) -> LayerNormInputs:
        """Return the inputs that a case describes; gain and shift are never trivial."""
        generator = np.random.default_rng(case.seed)
        x = filled(generator, case, (case.batch, case.rows, case.width))
        gamma, beta = (positive_fill(generator, (case.width,)) for _ in range(2))
        return cls(case.dtype, x, gamma, beta, case.eps)

    def plain(self) -> LayerNormInputs:
        """Return inputs with unit gain and no shift."""
        return replace(self, gamma=np.ones_like(self.gamma), beta=np.zeros_like(self.beta))

    def expected(self, conventions: Conventions) -> Expected:
        placement = conventions["layer_norm_eps"]
        value = reference.layer_norm(self.x, self.gamma, self.beta, eps=self.eps, eps_placement=placement)
        precision = Precision.of(self.dtype)

        def bound() -> Array:
            return layer_norm_bound(self.x, self.gamma, self.beta, self.eps, precision)

        return bounded(value, bound, precision, self.dtype)


@dataclass(frozen=True, eq=False)
class RmsNormInputs(VectorInputs):
    """Vectors (batch, rows, width), the gain as the implementation stores it, and eps."""

    operation: ClassVar[str] = "rms_norm"
    dtype: str
    x: Array
    gamma: Array
    eps: float

    @classmethod
    def draw(cls, operation: str, case: VectorCase) -> RmsNormInputs:
        """Return the inputs that a case describes; the gain is never trivial."""
        generator = np.random.default_rng(case.seed)
        x = filled(generator, case, (case.batch, case.rows, case.width))
        return cls(case.dtype, x, positive_fill(generator, (case.width,)), case.eps)

    def plain(self, conventions: Conventions) -> RmsNormInputs:
        """Return inputs with unit gain, stored as the implementation stores it."""
        stored = 1.0 if conventions["rms_norm_gain"] == "gamma" else 0.0
        return replace(self, gamma=np.full_like(self.gamma, stored))

    def gain(self, conventions: Conventions) -> Array:
        """Return the factor of the normalised vector."""
        return self.gamma if conventions["rms_norm_gain"] == "gamma" else 1.0 + self.gamma

    def expected(self, conventions: Conventions) -> Expected:
        value = reference.rms_norm(self.x, self.gamma, eps=self.eps, gain=conventions["rms_norm_gain"])
        precision = Precision.of(self.dtype)

        def bound() -> Array:
            return rms_norm_bound(self.x, self.gain(conventions), self.eps, precision)

        return bounded(value, bound, precision, self.dtype)
