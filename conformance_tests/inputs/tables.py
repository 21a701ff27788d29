"""The inputs of operations that build a table from lengths: masks and positions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.cases.case import CausalMaskCase, PaddingMaskCase, PositionCase
from veriformer.conformance_tests.inputs.expected import Conventions, Expected, NothingHidden
from veriformer.conformance_tests.tolerances.positions import sinusoid_bound
from veriformer.conformance_tests.tolerances.precision import Precision

Array = np.ndarray


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


@dataclass(frozen=True)
class PositionInputs(NothingHidden):
    """The number of positions and the width of their encodings."""

    length: int
    d_model: int
    dtype: str
    operation: str = "sinusoidal_positions"

    @classmethod
    def draw(cls, operation: str, case: PositionCase) -> PositionInputs:
        """Return the inputs that a case describes."""
        return cls(case.length, case.d_model, case.dtype)

    def arguments(self) -> dict[str, Any]:
        """Return what the call is made with, by the interface's names."""
        return {"length": self.length, "d_model": self.d_model}

    @property
    def result_shape(self) -> tuple[int, ...]:
        """The shape of a correct result."""
        return (self.length, self.d_model)

    def expected(self, conventions: Conventions) -> Expected:
        """Return the encodings and their error bound.

        The operation is given no array, so nothing says in which precision it works: float32 is allowed.
        """
        layout = conventions["sinusoidal_layout"]
        value = reference.sinusoidal_positions(self.length, self.d_model, layout=layout)
        pairs = sinusoid_bound(np.arange(self.length), self.frequencies, Precision.of("float32"))
        allowed = np.tile(pairs, 2) if layout == "concatenated" else np.repeat(pairs, 2, axis=-1)
        return Expected(value, allowed, np.ones(value.shape, dtype=bool))

    @property
    def frequencies(self) -> Array:
        """ω_k = 10000^(−2k/d_model), (d_model / 2,)."""
        return np.asarray(10000.0 ** (-np.arange(0, self.d_model, 2) / self.d_model))
