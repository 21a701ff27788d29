"""The inputs of token embedding: tokens and the table of their vectors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.core.expected import Conventions, Expected
from veriformer.conformance_tests.core.inputs import Inputs
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.values import fill, round_to_dtype
from veriformer.conformance_tests.operations.embedding.bounds import embedding_bound
from veriformer.conformance_tests.operations.embedding.cases import EmbeddingCase
from veriformer.conformance_tests.rounding.precision import Precision


@dataclass(frozen=True, eq=False)
class EmbeddingInputs(Inputs):
    """Tokens (B, L) and a table (N, E) of distinct rows, unless the values leave no room for that."""

    operation: ClassVar[str] = "token_embedding"
    dtype: str
    tokens: Array
    table: Array
    scale_by_sqrt_d_model: bool = False

    @classmethod
    def draw(cls, operation: str, case: EmbeddingCase) -> EmbeddingInputs:
        generator = np.random.default_rng(case.seed)
        tokens = generator.integers(0, case.vocabulary, (case.batch, case.length))
        # One axis more, because a palette may repeat the rows of a matrix.
        table = fill(generator, (case.vocabulary, 1, case.width), case.palette)[:, 0]
        return cls(case.dtype, tokens, round_to_dtype(table, case.dtype), case.scaled)

    def arguments(self) -> dict[str, Any]:
        scaled = {"scale_by_sqrt_d_model": True} if self.scale_by_sqrt_d_model else {}
        return {"tokens": self.tokens, "table": self.table, **scaled}

    @property
    def result_shape(self) -> tuple[int, ...]:
        return (*self.tokens.shape, int(self.table.shape[1]))

    @property
    def vocabulary(self) -> int:
        """N."""
        return int(self.table.shape[0])

    def with_tokens(self, tokens: Array) -> EmbeddingInputs:
        """Return inputs with other tokens."""
        return replace(self, tokens=tokens)

    def expected(self, conventions: Conventions) -> Expected:
        """Return the exact vectors and their error bound: none unless they are scaled."""
        value = reference.token_embedding(self.tokens, self.table, scale_by_sqrt_d_model=self.scale_by_sqrt_d_model)
        if not self.scale_by_sqrt_d_model:
            return Expected.exact(value)
        precision = Precision.of(self.dtype)
        allowed = embedding_bound(value, precision) * precision.with_reference
        return Expected(value, allowed, np.ones(value.shape, dtype=bool))
