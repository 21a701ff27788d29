"""The inputs of operations that build a mask from lengths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.core.expected import Conventions, Expected, NothingHidden
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.masks.cases import CausalMaskCase, PaddingMaskCase


@dataclass(frozen=True)
class CausalMaskInputs(NothingHidden):
    """L and S."""

    query_length: int
    key_length: int
    dtype: str = "float32"
    operation: str = "causal_mask"

    @classmethod
    def draw(cls, operation: str, case: CausalMaskCase) -> CausalMaskInputs:
        """Return the inputs that a case describes."""
        return cls(case.query_length, case.key_length)

    def arguments(self) -> dict[str, Any]:
        """Return what the call is made with, by the interface's names."""
        return {"query_length": self.query_length, "key_length": self.key_length}

    @property
    def result_shape(self) -> tuple[int, ...]:
        """The shape of a correct result."""
        return (self.query_length, self.key_length)

    def expected(self, conventions: Conventions) -> Expected:
        """Return the mask, which rounding cannot change."""
        alignment = conventions["causal_alignment"]
        mask = reference.causal_mask(self.query_length, self.key_length, causal_alignment=alignment)
        return Expected.exact(mask)


@dataclass(frozen=True, eq=False)
class PaddingMaskInputs(NothingHidden):
    """The number of real tokens of each sequence, and the padded length."""

    lengths: Array
    max_length: int
    dtype: str = "float32"
    operation: str = "padding_mask"

    @classmethod
    def draw(cls, operation: str, case: PaddingMaskCase) -> PaddingMaskInputs:
        """Return the inputs that a case describes."""
        return cls(np.array(case.lengths, dtype=np.int64), case.max_length)

    def arguments(self) -> dict[str, Any]:
        """Return what the call is made with, by the interface's names."""
        return {"lengths": self.lengths, "max_length": self.max_length}

    @property
    def result_shape(self) -> tuple[int, ...]:
        """The shape of a correct result."""
        return (len(self.lengths), self.max_length)

    def expected(self, conventions: Conventions) -> Expected:
        """Return the mask, which rounding cannot change."""
        return Expected.exact(reference.padding_mask(self.lengths, self.max_length))
