"""The inputs of feed-forward networks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, Self, TypeVar

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.core.expected import Conventions, Expected
from veriformer.conformance_tests.core.inputs import VectorInputs
from veriformer.conformance_tests.core.when_needed import bounded
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.values import fill, filled, is_exact, positive_fill, round_to_dtype
from veriformer.conformance_tests.operations.feed_forward.bounds import feed_forward_bound, gated_feed_forward_bound
from veriformer.conformance_tests.operations.feed_forward.cases import Activation, FeedForwardCase
from veriformer.conformance_tests.rounding.precision import Precision


@dataclass(frozen=True)
class Matrices(ABC):
    """The weights of a network with hidden units."""

    @property
    @abstractmethod
    def hidden(self) -> int:
        """F, the number of hidden units."""

    @abstractmethod
    def take_units(self, index: Array) -> Self:
        """Return the hidden units at `index`."""


@dataclass(frozen=True)
class FeedForwardMatrices(Matrices):
    """The weights of a feed-forward network, by the interface's names; a bias may be None."""

    w_1: Array
    w_2: Array
    b_1: Array | None = None
    b_2: Array | None = None

    @property
    def hidden(self) -> int:
        """F, the number of hidden units."""
        return int(self.w_1.shape[1])

    def take_units(self, index: Array) -> Self:
        """Return the hidden units at `index`."""
        b_1 = None if self.b_1 is None else self.b_1[index]
        return replace(self, w_1=self.w_1[:, index], w_2=self.w_2[index], b_1=b_1)


@dataclass(frozen=True)
class GatedMatrices(Matrices):
    """The weights of a gated feed-forward network, by the interface's names."""

    w_gate: Array
    w_up: Array
    w_down: Array

    @property
    def hidden(self) -> int:
        """F, the number of hidden units."""
        return int(self.w_gate.shape[1])

    def take_units(self, index: Array) -> Self:
        """Return the hidden units at `index`."""
        return replace(self, w_gate=self.w_gate[:, index], w_up=self.w_up[:, index], w_down=self.w_down[index])


MatricesT = TypeVar("MatricesT", bound=Matrices)


@dataclass(frozen=True, eq=False)
class FeedForwardInputs(VectorInputs, Generic[MatricesT]):
    """Vectors (batch, rows, E), the weights of `feed_forward` or `gated_feed_forward`, and the activation."""

    operation: str
    dtype: str
    x: Array
    weights: MatricesT
    activation: Activation

    @classmethod
    def given(cls, operation: str, dtype: str, arguments: Mapping[str, Any]) -> NetworkInputs:
        """Return inputs made from given arguments; the weights are a mapping."""
        matrices = FeedForwardMatrices if operation == "feed_forward" else GatedMatrices
        return FeedForwardInputs(operation, dtype, **{**arguments, "weights": matrices(**arguments["weights"])})

    @classmethod
    def draw(cls, operation: str, case: FeedForwardCase) -> NetworkInputs:
        """Return the inputs of a case; no two matrices are equal."""
        generator = np.random.default_rng(case.seed)
        x = filled(generator, case, (case.batch, case.rows, case.width))
        if operation == "gated_feed_forward":
            w_gate, w_up = (_matrix(case, generator, case.width, case.hidden) for _ in range(2))
            gated = GatedMatrices(w_gate, w_up, _matrix(case, generator, case.hidden, case.width))
            return FeedForwardInputs(operation, case.dtype, x, gated, case.activation)
        w_1 = _matrix(case, generator, case.width, case.hidden)
        w_2 = _matrix(case, generator, case.hidden, case.width)
        biases = [positive_fill(generator, (size,)) if case.biases else None for size in (case.hidden, case.width)]
        plain = FeedForwardMatrices(w_1, w_2, *biases)
        return FeedForwardInputs(operation, case.dtype, x, plain, case.activation)

    @property
    def hidden(self) -> int:
        """F, the number of hidden units."""
        return self.weights.hidden

    def with_weights(self, **matrices: Any) -> Self:
        """Return inputs with some of the weights replaced."""
        return replace(self, weights=replace(self.weights, **matrices))

    def take_units(self, index: Array) -> Self:
        """Return inputs with the hidden units at `index`."""
        return replace(self, weights=self.weights.take_units(index))

    def expected(self, conventions: Conventions) -> Expected:
        form, precision = conventions["gelu_form"], Precision.of(self.dtype)
        weights: Matrices = self.weights
        if isinstance(weights, FeedForwardMatrices):
            value = reference.feed_forward(self.x, weights, activation=self.activation, gelu_form=form)
            bound = partial(feed_forward_bound, self.x, weights, self.activation, form, precision)
        elif isinstance(weights, GatedMatrices):
            value = reference.gated_feed_forward(self.x, weights, activation=self.activation, gelu_form=form)
            bound = partial(gated_feed_forward_bound, self.x, weights, self.activation, form, precision)
        else:
            raise TypeError(f"no network has weights of the kind {type(weights).__name__}")
        return bounded(value, bound, precision, self.dtype)


NetworkInputs = FeedForwardInputs[FeedForwardMatrices] | FeedForwardInputs[GatedMatrices]


def _matrix(case: FeedForwardCase, generator: np.random.Generator, rows: int, columns: int) -> Array:
    """Return a matrix whose product with a vector is about as large as the vector."""
    if is_exact(case):
        return generator.integers(-2, 3, (rows, columns)).astype(np.float64)
    return round_to_dtype(fill(generator, (rows, columns), "normal") * rows**-0.5, case.dtype)
