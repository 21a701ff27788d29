"""The inputs of feed-forward networks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.core.expected import Conventions, Expected, NothingHidden
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.values import fill, filled, is_exact, positive_fill, round_to_dtype
from veriformer.conformance_tests.operations.feed_forward.bounds import feed_forward_bound, gated_feed_forward_bound
from veriformer.conformance_tests.operations.feed_forward.cases import Activation, FeedForwardCase
from veriformer.conformance_tests.rounding.precision import Precision


@dataclass(frozen=True)
class FeedForwardMatrices:
    """The weights of a feed-forward network, by the interface's names; a bias may be None."""

    w_1: Array
    w_2: Array
    b_1: Array | None = None
    b_2: Array | None = None

    def take_units(self, index: Array) -> FeedForwardMatrices:
        """Return the hidden units at `index`."""
        b_1 = None if self.b_1 is None else self.b_1[index]
        return FeedForwardMatrices(self.w_1[:, index], self.w_2[index], b_1, self.b_2)


@dataclass(frozen=True)
class GatedMatrices:
    """The weights of a gated feed-forward network, by the interface's names."""

    w_gate: Array
    w_up: Array
    w_down: Array

    def take_units(self, index: Array) -> GatedMatrices:
        """Return the hidden units at `index`."""
        return GatedMatrices(self.w_gate[:, index], self.w_up[:, index], self.w_down[index])


@dataclass(frozen=True, eq=False)
class FeedForwardInputs(NothingHidden):
    """Vectors (batch, rows, E), the weights of `feed_forward` or `gated_feed_forward`, and the activation."""

    operation: str
    dtype: str
    x: Array
    weights: Any
    activation: Activation

    @classmethod
    def given(cls, operation: str, dtype: str, arguments: Mapping[str, Any]) -> FeedForwardInputs:
        """Return inputs made of given arguments, of which the weights are a mapping."""
        matrices = FeedForwardMatrices if operation == "feed_forward" else GatedMatrices
        return cls(operation, dtype, **{**arguments, "weights": matrices(**arguments["weights"])})

    @classmethod
    def draw(cls, operation: str, case: FeedForwardCase) -> FeedForwardInputs:
        """Return the inputs that a case describes; no two matrices are alike."""
        generator = np.random.default_rng(case.seed)
        x = filled(generator, case, (case.batch, case.rows, case.width))
        if operation == "gated_feed_forward":
            w_gate, w_up = (_matrix(case, generator, case.width, case.hidden) for _ in range(2))
            gated = GatedMatrices(w_gate, w_up, _matrix(case, generator, case.hidden, case.width))
            return cls(operation, case.dtype, x, gated, case.activation)
        w_1 = _matrix(case, generator, case.width, case.hidden)
        w_2 = _matrix(case, generator, case.hidden, case.width)
        biases = [positive_fill(generator, (size,)) if case.biases else None for size in (case.hidden, case.width)]
        return cls(operation, case.dtype, x, FeedForwardMatrices(w_1, w_2, *biases), case.activation)

    def arguments(self) -> dict[str, Any]:
        """Return what the call is made with, by the interface's names."""
        return {"x": self.x, "weights": self.weights, "activation": self.activation}

    @property
    def result_shape(self) -> tuple[int, ...]:
        """The shape of a correct result."""
        return self.x.shape

    @property
    def hidden(self) -> int:
        """F, the number of hidden units."""
        weights = self.weights
        return int((weights.w_1 if isinstance(weights, FeedForwardMatrices) else weights.w_gate).shape[1])

    def take_samples(self, index: Array) -> FeedForwardInputs:
        """Return the samples at `index`."""
        return replace(self, x=self.x[index])

    def with_x(self, x: Array) -> FeedForwardInputs:
        """Return inputs with other vectors, rounded to what the dtype holds."""
        return replace(self, x=round_to_dtype(x, self.dtype))

    def with_weights(self, **matrices: Array | None) -> FeedForwardInputs:
        """Return inputs with some of the weights replaced."""
        return replace(self, weights=replace(self.weights, **matrices))

    def take_units(self, index: Array) -> FeedForwardInputs:
        """Return inputs with the hidden units at `index`."""
        return replace(self, weights=self.weights.take_units(index))

    def expected(self, conventions: Conventions) -> Expected:
        """Return the exact result and its error bound."""
        form, precision = conventions["gelu_form"], Precision.of(self.dtype)
        gated = self.operation == "gated_feed_forward"
        compute: Any = reference.gated_feed_forward if gated else reference.feed_forward
        value = compute(self.x, self.weights, activation=self.activation, gelu_form=form)
        bound = gated_feed_forward_bound if gated else feed_forward_bound
        allowed = bound(self.x, self.weights, self.activation, form, precision)
        return Expected(value, allowed * precision.with_reference, np.ones(value.shape, dtype=bool))


def _matrix(case: FeedForwardCase, generator: np.random.Generator, rows: int, columns: int) -> Array:
    """Return a matrix whose product with a vector is about as large as the vector."""
    if is_exact(case):
        return generator.integers(-2, 3, (rows, columns)).astype(np.float64)
    return round_to_dtype(fill(generator, (rows, columns), "normal") * rows**-0.5, case.dtype)
