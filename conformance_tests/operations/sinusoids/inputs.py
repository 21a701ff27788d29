"""The inputs of sinusoidal positions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.core.expected import Conventions, Expected
from veriformer.conformance_tests.core.inputs import Inputs
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.sinusoids.bounds import sinusoid_bound
from veriformer.conformance_tests.operations.sinusoids.cases import PositionCase
from veriformer.conformance_tests.rounding.precision import Precision


@dataclass(frozen=True)
class PositionInputs(Inputs):
    """The number of positions and the width of their encodings."""

    operation: ClassVar[str] = "sinusoidal_positions"
    length: int
    d_model: int
    dtype: str

    @classmethod
    def draw(cls, operation: str, case: PositionCase) -> PositionInputs:
        return cls(case.length, case.d_model, case.dtype)

    @property
    def result_shape(self) -> tuple[int, ...]:
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
