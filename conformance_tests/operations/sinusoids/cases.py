"""Cases of sinusoidal positions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from veriformer.conformance_tests.drawing import choices
from veriformer.conformance_tests.drawing.case import Case
from veriformer.conformance_tests.drawing.limits import Limits
from veriformer.conformance_tests.drawing.space import Space


@dataclass(frozen=True)
class PositionCase(Case):
    """One call of `sinusoidal_positions`."""

    length: int
    d_model: int
    dtype: str = "float32"
    seed: int = 0

    axes: ClassVar[tuple[str, ...]] = ("length", "d_model")

    def describe(self) -> str:
        return f"length {self.length}, d_model {self.d_model}"


@dataclass(frozen=True)
class PositionSpace(Space):
    """Cases of `sinusoidal_positions`."""

    least_length: int = 1


def position_cases(space: PositionSpace, limits: Limits) -> choices.Choice[PositionCase]:
    """Return lengths and even widths."""
    lengths = choices.integers(space.least_length, max(space.least_length, 6 if limits.small else 3))
    pairs = choices.integers(1, 3)
    if not limits.small:
        # Half of them stay short, so that few cases meet the shortest.
        lengths = choices.one_of(lengths, choices.integers(space.least_length, 40))
        pairs = choices.one_of(pairs, choices.integers(1, 32))
    widths = pairs.map(lambda half: 2 * half)
    return choices.builds(PositionCase, lengths, widths, choices.sampled_from(limits.dtypes))
