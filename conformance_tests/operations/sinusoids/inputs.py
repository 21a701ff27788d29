"""The inputs of sinusoidal positions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.core.expected import Conventions, Expected, NothingHidden
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.sinusoids.bounds import sinusoid_bound
from veriformer.conformance_tests.operations.sinusoids.cases import PositionCase
from veriformer.conformance_tests.rounding.precision import Precision


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
