"""The inputs of the backward pass of token embedding."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.core.expected import Conventions, Expected
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.values import fill, round_to_dtype
from veriformer.conformance_tests.operations.embedding.cases import EmbeddingCase
from veriformer.conformance_tests.operations.embedding.inputs import EmbeddingInputs
from veriformer.conformance_tests.operations.embedding_backward.bounds import embedding_backward_bound
from veriformer.conformance_tests.operations.gradients import GradientInputs
from veriformer.conformance_tests.rounding.precision import Precision


@dataclass(frozen=True, eq=False, kw_only=True)
class EmbeddingBackwardInputs(GradientInputs, EmbeddingInputs):
    """Tokens (B, L), a table (N, E), and the gradients of the tokens' vectors (B, L, E)."""

    operation: ClassVar[str] = "token_embedding_backward"
    grad_output: Array

    @classmethod
    def draw(cls, operation: str, case: EmbeddingCase) -> Self:
        """Return the inputs that a case describes; the gradients are of the table's palette."""
        forward = EmbeddingInputs.draw(operation, case)
        shape = (case.batch, case.length, case.width)
        values = fill(np.random.default_rng([case.seed, 2]), shape, case.palette)
        return cls(**vars(forward), grad_output=round_to_dtype(values, case.dtype))

    def arguments(self) -> dict[str, Any]:
        return {**super().arguments(), "grad_output": self.grad_output}

    @property
    def result_shape(self) -> tuple[int, ...]:
        return self.table.shape

    @property
    def factor(self) -> float:
        """√E where the vectors are scaled, 1 elsewhere."""
        return float(np.sqrt(self.table.shape[1])) if self.scale_by_sqrt_d_model else 1.0

    def take_places(self, index: Array) -> Self:
        """Return inputs of the same shape whose places, counted through all samples, are those at `index`."""
        gradients = self.grad_output.reshape(-1, self.table.shape[1])[index].reshape(self.grad_output.shape)
        return replace(self, tokens=self.tokens.ravel()[index].reshape(self.tokens.shape), grad_output=gradients)

    def expected(self, conventions: Conventions) -> Expected:
        """Return the exact gradient of the table and its error bound."""
        scaled, precision = self.scale_by_sqrt_d_model, Precision.of(self.dtype)
        value = reference.token_embedding_backward(
            self.tokens, self.table, self.grad_output, scale_by_sqrt_d_model=scaled
        )
        bound = embedding_backward_bound(self.tokens, self.grad_output, self.vocabulary, precision, scaled=scaled)
        return Expected(value, bound * precision.with_reference, np.ones(value.shape, dtype=bool))
