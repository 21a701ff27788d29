"""The inputs of linear biases and of relative buckets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.core.expected import Conventions, Expected
from veriformer.conformance_tests.core.inputs import Inputs
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.relative_positions.bounds import alibi_bound, decided
from veriformer.conformance_tests.operations.relative_positions.cases import AlibiCase, BucketCase


@dataclass(frozen=True)
class AlibiInputs(Inputs):
    """H, L and S."""

    operation: ClassVar[str] = "alibi_bias"
    num_heads: int
    query_length: int
    key_length: int
    dtype: str = "float32"

    @classmethod
    def draw(cls, operation: str, case: AlibiCase) -> AlibiInputs:
        return cls(case.heads, case.query_length, case.key_length)

    @property
    def result_shape(self) -> tuple[int, ...]:
        return (self.num_heads, self.query_length, self.key_length)

    @property
    def slopes(self) -> Array:
        """The slopes of the heads, (H,)."""
        return reference.alibi_slopes(self.num_heads)

    @property
    def visible(self) -> Array:
        """Which keys do not come after their query, (H, L, S): the only ones that are compared."""
        mask = reference.causal_mask(self.query_length, self.key_length, causal_alignment="bottom_right")
        return np.broadcast_to(mask, self.result_shape)

    def expected(self, conventions: Conventions) -> Expected:
        """Return the bias and its error bound, judged where keys are visible."""
        value = reference.alibi_bias(*self.result_shape)
        return Expected(value, alibi_bound(value, self.slopes), self.visible)


@dataclass(frozen=True, eq=False)
class BucketInputs(Inputs):
    """Relative positions of any shape, and the keywords: all three are given, or none if one is missing."""

    operation: ClassVar[str] = "relative_position_bucket"
    dtype: str
    relative_position: Array
    bidirectional: bool | None = None
    num_buckets: int | None = None
    max_distance: int | None = None

    @classmethod
    def draw(cls, operation: str, case: BucketCase) -> BucketInputs:
        generator = np.random.default_rng(case.seed)
        drawn = generator.integers(-case.furthest, case.furthest + 1, (case.rows, case.columns))
        return cls(case.dtype, drawn, case.bidirectional, case.num_buckets, case.max_distance)

    @property
    def result_shape(self) -> tuple[int, ...]:
        return self.relative_position.shape

    @property
    def one_direction(self) -> int:
        """N, the number of buckets of one direction."""
        total = 32 if self.num_buckets is None else self.num_buckets
        return total if self.bidirectional is False else total // 2

    @property
    def distance(self) -> Array:
        """The distances that are sorted into buckets."""
        backwards = -self.relative_position
        return np.asarray(np.maximum(backwards, 0) if self.bidirectional is False else np.abs(backwards))

    def of(self, relative_position: Array) -> BucketInputs:
        """Return inputs with other relative positions."""
        return replace(self, relative_position=relative_position)

    def expected(self, conventions: Conventions) -> Expected:
        """Return the buckets, judged where rounding cannot change them."""
        value = reference.relative_position_bucket(**self.arguments())
        furthest = 128 if self.max_distance is None else self.max_distance
        judged = decided(self.distance, self.one_direction, furthest)
        return Expected(value, np.zeros(value.shape), judged)
