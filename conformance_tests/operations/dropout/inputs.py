"""The inputs of dropout."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.core.expected import Conventions, Expected
from veriformer.conformance_tests.core.inputs import VectorInputs
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.values import filled
from veriformer.conformance_tests.operations.dropout.bounds import kept_bound
from veriformer.conformance_tests.operations.dropout.cases import DropoutCase
from veriformer.conformance_tests.rounding.precision import Precision


@dataclass(frozen=True, eq=False)
class DropoutInputs(VectorInputs):
    """Entries, (batch, rows, width), the rate, the seed, and the flag of training.

    `drawn` is a mask, True at the entries that are kept.
    """

    operation: ClassVar[str] = "dropout"
    dtype: str
    x: Array
    rate: float
    seed: int
    training: bool | None = None
    drawn: Array | None = None

    @classmethod
    def draw(cls, operation: str, case: DropoutCase) -> DropoutInputs:
        """Return the inputs that a case describes."""
        shape = (case.batch, case.rows, case.width)
        x = filled(np.random.default_rng(case.seed), case, shape)
        return cls(case.dtype, x, case.rate, case.mask_seed, case.training)

    @property
    def entries(self) -> Array:
        """The numbers that are dropped or kept."""
        return self.x

    def with_entries(self, entries: Array) -> Self:
        """Return inputs with other numbers to drop or keep, rounded to the dtype."""
        return self.with_x(entries)

    def without_zeros(self, generator: np.random.Generator) -> Self:
        """Return inputs with entries that are not zero, so that a zero in the result was dropped."""
        shape = self.entries.shape
        return self.with_entries(generator.choice([-1.0, 1.0], shape) * generator.integers(1, 5, shape))

    def as_drawn(self, result: Array) -> Self:
        """Return the inputs with the mask of a call: an entry was kept where the result is a number other than zero.

        Where the entry itself is zero, it counts as kept.
        """
        changed: dict[str, Any] = {"drawn": np.isfinite(result) & ((result != 0.0) | (self.entries == 0.0))}
        return replace(self, **changed)

    def expected(self, conventions: Conventions) -> Expected:
        """Return the exact result, and an error bound that does not depend on the mask."""
        kept = self.entries / (1.0 - self.rate)
        allowed = kept_bound(kept, self.rate, Precision.of(self.dtype))
        return Expected(self._exact(), allowed, np.ones(kept.shape, dtype=bool))

    def _exact(self) -> Array:
        if self.training is False:
            return self.entries
        mask = self.drawn
        if mask is None:
            mask = reference.dropout_mask(self.entries.shape, self.rate, self.seed)
        return reference.kept_entries(self.entries, mask, self.rate)
