"""The inputs of rotary embeddings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.core.expected import Conventions, Expected
from veriformer.conformance_tests.core.inputs import VectorInputs
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.values import filled
from veriformer.conformance_tests.operations.rotary.cases import RotaryCase
from veriformer.conformance_tests.operations.rotary.estimates import rotated
from veriformer.conformance_tests.rounding.estimates import Estimate
from veriformer.conformance_tests.rounding.precision import Precision

DEFAULT_BASE = 10000.0


@dataclass(frozen=True, eq=False)
class RotaryInputs(VectorInputs):
    """Vectors (B, H, L, D), positions (L,) or (B, L), and the keywords that are given."""

    operation: ClassVar[str] = "rotary_embedding"
    dtype: str
    x: Array
    positions: Array
    base: float | None = None
    rotary_dim: int | None = None

    @classmethod
    def draw(cls, operation: str, case: RotaryCase) -> RotaryInputs:
        """Return the inputs of a case; positions neither start at 0 nor are in order."""
        generator = np.random.default_rng(case.seed)
        x = filled(generator, case, (case.batch, case.heads, case.length, case.width))
        shape = (case.batch, case.length) if case.per_sample else (case.length,)
        positions = generator.integers(0, case.furthest + 1, shape)
        return cls(case.dtype, x, positions, case.base, case.rotary_dim)

    @property
    def turned(self) -> int:
        """How many leading components turn."""
        return self.x.shape[-1] if self.rotary_dim is None else self.rotary_dim

    def take_samples(self, index: Array) -> Self:
        positions = self.positions if self.positions.ndim == 1 else self.positions[index]
        return replace(self, x=self.x[index], positions=positions)

    def at(self, positions: Array) -> RotaryInputs:
        """Return inputs at other positions."""
        return replace(self, positions=positions)

    def other_x(self, generator: np.random.Generator) -> Array:
        """Return vectors of the same shape, small integers, which every dtype holds and so their small multiples."""
        return generator.integers(-3, 4, self.x.shape).astype(np.float64)

    def pairs(self, components: Array, conventions: Conventions) -> tuple[Array, Array]:
        """Return the first and the second components of all pairs that turn."""
        first, second = reference.pair_places(self.turned, conventions["rotary_pairing"])
        return components[..., first], components[..., second]

    def expected(self, conventions: Conventions) -> Expected:
        """Return the exact result and its error bound; components that do not turn have no error."""
        precision = Precision.of(self.dtype)
        turned = rotated(
            Estimate.exact(self.x),
            self.positions,
            precision,
            base=DEFAULT_BASE if self.base is None else self.base,
            rotary_dim=self.rotary_dim,
            pairing=conventions["rotary_pairing"],
        )
        return Expected(turned.value, turned.error * precision.with_reference, np.ones(turned.value.shape, dtype=bool))
