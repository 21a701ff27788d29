"""The inputs of the backward passes of feed-forward networks, and the gradients that they return."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, Self

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.core.expected import Conventions, Expected
from veriformer.conformance_tests.core.inputs import Shape
from veriformer.conformance_tests.core.several_results import SeveralResults
from veriformer.conformance_tests.core.when_needed import bounded_parts
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.values import round_to_dtype
from veriformer.conformance_tests.operations.feed_forward.cases import Activation, FeedForwardCase
from veriformer.conformance_tests.operations.feed_forward.inputs import (
    FeedForwardInputs,
    FeedForwardMatrices,
    GatedMatrices,
    Matrices,
    MatricesT,
)
from veriformer.conformance_tests.operations.feed_forward_backward.bounds import Activated, fed_back, gated_fed_back
from veriformer.conformance_tests.operations.gradients import GradientInputs, drawn_cotangent
from veriformer.conformance_tests.rounding.estimates import Estimate
from veriformer.conformance_tests.rounding.precision import Precision


@dataclass(frozen=True, eq=False)
class NetworkBackwardInputs(SeveralResults, GradientInputs, Generic[MatricesT]):
    """Vectors (batch, rows, E), the weights of a network, the activation and the gradients of the results.

    A weight's gradient is a sum over all vectors, so that no sample is a case of its own.
    """

    operation: str
    dtype: str
    x: Array
    weights: MatricesT
    activation: Activation
    grad_output: Array

    @classmethod
    def given(cls, operation: str, dtype: str, arguments: Mapping[str, Any]) -> AnyNetworkBackward:
        """Return inputs made from given arguments; the weights are a mapping."""
        matrices = FeedForwardMatrices if operation == "feed_forward_backward" else GatedMatrices
        return cls(operation, dtype, **{**arguments, "weights": matrices(**arguments["weights"])})  # type: ignore[return-value]

    @classmethod
    def draw(cls, operation: str, case: FeedForwardCase) -> AnyNetworkBackward:
        """Return the inputs that a case describes: those of the forward pass, and gradients of their palette."""
        forward = FeedForwardInputs.draw(operation.removesuffix("_backward"), case)
        gradient = drawn_cotangent(case, forward.x.shape)
        return cls(operation, case.dtype, forward.x, forward.weights, forward.activation, gradient)  # type: ignore[return-value, arg-type]

    @property
    def hidden(self) -> int:
        """F, the number of hidden units."""
        return self.weights.hidden

    @property
    def parts(self) -> dict[str, Shape]:
        """The gradients, each with the shape of its argument: that of x, and those of the weights that there are."""
        weights = {f"grad_{name}": array.shape for name, array in vars(self.weights).items() if array is not None}
        return {"grad_x": self.x.shape, **weights}

    def with_x(self, x: Array) -> Self:
        """Return inputs with other vectors, rounded to the dtype."""
        return replace(self, x=round_to_dtype(x, self.dtype))

    def with_weights(self, **matrices: Any) -> Self:
        """Return inputs with some of the weights replaced."""
        return replace(self, weights=replace(self.weights, **matrices))

    def with_rows(self, take: Any) -> Self:
        """Return inputs with what `take` takes out of the vectors, (batch, rows, E), and of their gradients."""
        return replace(self, x=take(self.x), grad_output=take(self.grad_output))

    def take_units(self, index: Array) -> Self:
        """Return inputs with the hidden units at `index`."""
        return replace(self, weights=self.weights.take_units(index))

    def forward(self, gelu_form: str) -> Array:
        """Return the exact result of the forward pass."""
        network = getattr(reference, self.operation.removesuffix("_backward"))
        return np.asarray(network(self.x, self.weights, activation=self.activation, gelu_form=gelu_form))

    def expected(self, conventions: Conventions) -> Expected:
        """Return the exact gradients and their error bounds."""
        precision = Precision.of(self.dtype)
        activated = Activated(self.activation, conventions["gelu_form"], precision)
        x, gradient, weights = Estimate.exact(self.x), Estimate.exact(self.grad_output), self.weights
        settings: dict[str, Any] = {"activation": self.activation, "gelu_form": conventions["gelu_form"]}
        backward = getattr(reference, self.operation)
        grad_x, grad_weights = backward(self.x, weights, self.grad_output, **settings)
        values = {"grad_x": grad_x, **{f"grad_{name}": array for name, array in vars(grad_weights).items()}}

        def bounds() -> list[Array]:
            found = self._bounds(x, weights, gradient, activated)
            return [found[name] for name in self.parts]

        return bounded_parts([values[name] for name in self.parts], bounds, precision, self.dtype)

    def _bounds(self, x: Estimate, weights: Matrices, gradient: Estimate, activated: Activated) -> dict[str, Array]:
        if isinstance(weights, FeedForwardMatrices):
            of_x, others = fed_back(x, weights, gradient, activated)
        elif isinstance(weights, GatedMatrices):
            of_x, others = gated_fed_back(x, weights, gradient, activated)
        else:
            raise TypeError(f"no network has weights of the kind {type(weights).__name__}")
        return {"grad_x": of_x.error, **{f"grad_{name}": one.error for name, one in others.items()}}


AnyNetworkBackward = NetworkBackwardInputs[FeedForwardMatrices] | NetworkBackwardInputs[GatedMatrices]
