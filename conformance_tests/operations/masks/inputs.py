"""The inputs of operations that build a mask from lengths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.core.expected import Conventions, Expected
from veriformer.conformance_tests.core.inputs import Inputs
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.masks.cases import CausalMaskCase, PaddingMaskCase


@dataclass(frozen=True)
class CausalMaskInputs(Inputs):
    """L and S."""

    operation: ClassVar[str] = "causal_mask"
    query_length: int
    key_length: int
    dtype: str = "float32"

    @classmethod
    def draw(cls, operation: str, case: CausalMaskCase) -> CausalMaskInputs:
        return cls(case.query_length, case.key_length)

    @property
    def result_shape(self) -> tuple[int, ...]:
        return (self.query_length, self.key_length)

    def expected(self, conventions: Conventions) -> Expected:
        """Return the mask, which rounding cannot change."""
        alignment = conventions["causal_alignment"]
        mask = reference.causal_mask(self.query_length, self.key_length, causal_alignment=alignment)
        return Expected.exact(mask)


@dataclass(frozen=True, eq=False)
class PaddingMaskInputs(Inputs):
    """The number of real tokens of each sequence, and the padded length."""

    operation: ClassVar[str] = "padding_mask"
    lengths: Array
    max_length: int
    dtype: str = "float32"

    @classmethod
    def draw(cls, operation: str, case: PaddingMaskCase) -> PaddingMaskInputs:
        return cls(np.array(case.lengths, dtype=np.int64), case.max_length)

    @property
    def result_shape(self) -> tuple[int, ...]:
        return (len(self.lengths), self.max_length)

    def expected(self, conventions: Conventions) -> Expected:
        """Return the mask, which rounding cannot change."""
        return Expected.exact(reference.padding_mask(self.lengths, self.max_length))
