"""The inputs of layer and RMS normalisation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.core.expected import Conventions, Expected, NothingHidden
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.values import filled, positive_fill, round_to_dtype
from veriformer.conformance_tests.drawing.vectors import VectorCase
from veriformer.conformance_tests.operations.normalisation.bounds import layer_norm_bound, rms_norm_bound
from veriformer.conformance_tests.rounding.precision import Precision


@dataclass(frozen=True, eq=False)
class LayerNormInputs(NothingHidden):
    """Vectors (batch, rows, width), gain, shift and eps."""

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

    @property
    def operation(self) -> str:
        """The operation's name."""
        return "layer_norm"

    def arguments(self) -> dict[str, Any]:
        """Return what the call is made with, by the interface's names."""
        return {"x": self.x, "gamma": self.gamma, "beta": self.beta, "eps": self.eps}

    @property
    def result_shape(self) -> tuple[int, ...]:
        """The shape of a correct result."""
        return self.x.shape

    def take_samples(self, index: Array) -> LayerNormInputs:
        """Return the samples at `index`."""
        return replace(self, x=self.x[index])

    def with_x(self, x: Array) -> LayerNormInputs:
        """Return inputs with other vectors."""
        return replace(self, x=x)

    def plain(self) -> LayerNormInputs:
        """Return inputs with unit gain and no shift."""
        return replace(self, gamma=np.ones_like(self.gamma), beta=np.zeros_like(self.beta))

    def expected(self, conventions: Conventions) -> Expected:
        """Return the exact result and its error bound."""
        placement = conventions["layer_norm_eps"]
        value = reference.layer_norm(self.x, self.gamma, self.beta, eps=self.eps, eps_placement=placement)
        precision = Precision.of(self.dtype)
        bound = layer_norm_bound(self.x, self.gamma, self.beta, self.eps, precision)
        allowed = bound * precision.with_reference
        return Expected(value, allowed, np.ones(value.shape, dtype=bool))


@dataclass(frozen=True, eq=False)
class RmsNormInputs(NothingHidden):
    """Vectors (batch, rows, width), what the implementation stores as gain, and eps."""

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

    @property
    def operation(self) -> str:
        """The operation's name."""
        return "rms_norm"

    def arguments(self) -> dict[str, Any]:
        """Return what the call is made with, by the interface's names."""
        return {"x": self.x, "gamma": self.gamma, "eps": self.eps}

    @property
    def result_shape(self) -> tuple[int, ...]:
        """The shape of a correct result."""
        return self.x.shape

    def take_samples(self, index: Array) -> RmsNormInputs:
        """Return the samples at `index`."""
        return replace(self, x=self.x[index])

    def with_x(self, x: Array) -> RmsNormInputs:
        """Return inputs with other vectors, rounded to what the dtype holds."""
        return replace(self, x=round_to_dtype(x, self.dtype))

    def plain(self, conventions: Conventions) -> RmsNormInputs:
        """Return inputs with unit gain, stored as the implementation stores it."""
        stored = 1.0 if conventions["rms_norm_gain"] == "gamma" else 0.0
        return replace(self, gamma=np.full_like(self.gamma, stored))

    def gain(self, conventions: Conventions) -> Array:
        """Return what the normalised vector is multiplied by."""
        return self.gamma if conventions["rms_norm_gain"] == "gamma" else 1.0 + self.gamma

    def expected(self, conventions: Conventions) -> Expected:
        """Return the exact result and its error bound."""
        value = reference.rms_norm(self.x, self.gamma, eps=self.eps, gain=conventions["rms_norm_gain"])
        precision = Precision.of(self.dtype)
        bound = rms_norm_bound(self.x, self.gain(conventions), self.eps, precision)
        return Expected(value, bound * precision.with_reference, np.ones(value.shape, dtype=bool))
