"""The inputs of the backward passes of layer and RMS normalisation, and the gradients that they return."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.core.expected import Conventions, Expected
from veriformer.conformance_tests.core.inputs import Shape
from veriformer.conformance_tests.core.several_results import SeveralResults
from veriformer.conformance_tests.core.when_needed import bounded_parts
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.values import round_to_dtype
from veriformer.conformance_tests.drawing.vectors import VectorCase
from veriformer.conformance_tests.operations.gradients import GradientInputs, drawn_cotangent
from veriformer.conformance_tests.operations.normalisation.inputs import LayerNormInputs, RmsNormInputs
from veriformer.conformance_tests.operations.normalisation_backward.bounds import (
    gain_bound,
    of_layer_norm,
    of_rms_norm,
    shift_bound,
    vector_bound,
)
from veriformer.conformance_tests.rounding.precision import Precision


@dataclass(frozen=True, eq=False, kw_only=True)
class NormBackwardInputs(SeveralResults, GradientInputs):
    """Vectors (batch, rows, width), the gain as it is stored, eps, and the gradients of the results.

    The gain's gradient is a sum over all vectors, so that no sample is a case of its own.
    """

    dtype: str
    x: Array
    gamma: Array
    eps: float
    grad_output: Array

    def with_x(self, x: Array) -> Self:
        """Return inputs with other vectors, rounded to the dtype."""
        changed: dict[str, Any] = {"x": round_to_dtype(x, self.dtype)}
        return replace(self, **changed)

    def with_rows(self, take: Any) -> Self:
        """Return inputs with what `take` takes out of the vectors, (batch, rows, width), and of their gradients."""
        changed: dict[str, Any] = {"x": take(self.x), "grad_output": take(self.grad_output)}
        return replace(self, **changed)

    def gain(self, conventions: Conventions) -> Array:
        """Return the factor of the normalised vectors."""
        return self.gamma

    def scaled(self, conventions: Conventions) -> Array:
        """Return the gradients of the normalised vectors, g = dO · gain."""
        return np.asarray(self.grad_output * self.gain(conventions))

    def centred(self) -> Array:
        """Return what is divided by the root."""
        return self.x


@dataclass(frozen=True, eq=False, kw_only=True)
class LayerNormBackwardInputs(NormBackwardInputs):
    """Inputs of the backward pass of layer normalisation, whose shift has no effect on the gradients."""

    operation: ClassVar[str] = "layer_norm_backward"
    beta: Array

    @classmethod
    def draw(cls, operation: str, case: VectorCase) -> Self:
        """Return the inputs that a case describes: those of the forward pass, and gradients of their palette."""
        forward = LayerNormInputs.draw(operation, case)
        return cls(**vars(forward), grad_output=drawn_cotangent(case, forward.x.shape))

    @property
    def parts(self) -> dict[str, Shape]:
        """The gradients, each with the shape of its argument."""
        return {"grad_x": self.x.shape, "grad_gamma": self.gamma.shape, "grad_beta": self.gamma.shape}

    def centred(self) -> Array:
        """Return the vectors less their means."""
        return np.asarray(self.x - self.x.mean(axis=-1, keepdims=True))

    def expected(self, conventions: Conventions) -> Expected:
        """Return the exact gradients and their error bounds. With eps outside the root the deviation of a vector of
        equal components has no derivative: its gradient is not judged.
        """
        placement = conventions["layer_norm_eps"]
        grad_x, grad_gamma, grad_beta = reference.layer_norm_backward(
            self.x, self.gamma, self.beta, self.grad_output, eps=self.eps, eps_placement=placement
        )
        precision = Precision.of(self.dtype)
        inside = placement == "inside_root"

        def bounds() -> tuple[Array, Array, Array]:
            statistics = of_layer_norm(self.x, self.eps, precision, inside_root=inside)
            return (
                vector_bound(statistics, self.scaled(conventions), grad_x, precision, centring=True),
                gain_bound(statistics, self.grad_output, grad_gamma, precision),
                shift_bound(self.grad_output, grad_beta, precision),
            )

        smooth = np.broadcast_to(inside | (self.centred() != 0.0).any(axis=-1, keepdims=True), grad_x.shape)
        judged = [smooth, *(np.ones(self.gamma.shape, dtype=bool) for _ in range(2))]
        return bounded_parts((grad_x, grad_gamma, grad_beta), bounds, precision, self.dtype, judged)


@dataclass(frozen=True, eq=False, kw_only=True)
class RmsNormBackwardInputs(NormBackwardInputs):
    """Inputs of the backward pass of root-mean-square normalisation."""

    operation: ClassVar[str] = "rms_norm_backward"

    @classmethod
    def draw(cls, operation: str, case: VectorCase) -> Self:
        """Return the inputs that a case describes: those of the forward pass, and gradients of their palette."""
        forward = RmsNormInputs.draw(operation, case)
        return cls(**vars(forward), grad_output=drawn_cotangent(case, forward.x.shape))

    @property
    def parts(self) -> dict[str, Shape]:
        """The gradients, each with the shape of its argument."""
        return {"grad_x": self.x.shape, "grad_gamma": self.gamma.shape}

    def gain(self, conventions: Conventions) -> Array:
        """Return the factor of the normalised vectors, of which the implementation may store one less."""
        return self.gamma if conventions["rms_norm_gain"] == "gamma" else 1.0 + self.gamma

    def expected(self, conventions: Conventions) -> Expected:
        """Return the exact gradients and their error bounds."""
        grad_x, grad_gamma = reference.rms_norm_backward(
            self.x, self.gamma, self.grad_output, eps=self.eps, gain=conventions["rms_norm_gain"]
        )
        precision = Precision.of(self.dtype)

        def bounds() -> tuple[Array, Array]:
            statistics = of_rms_norm(self.x, self.eps, precision)
            return (
                vector_bound(statistics, self.scaled(conventions), grad_x, precision, centring=False),
                gain_bound(statistics, self.grad_output, grad_gamma, precision),
            )

        return bounded_parts((grad_x, grad_gamma), bounds, precision, self.dtype)
