"""Cases of operations on vectors along the last axis, or on each entry."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import ClassVar, Self

from veriformer.conformance_tests.drawing import choices
from veriformer.conformance_tests.drawing.case import BatchableCase, Palette
from veriformer.conformance_tests.drawing.fixed import FixedChoices
from veriformer.conformance_tests.drawing.limits import LARGEST_AMPLITUDE, SEEDS, Limits
from veriformer.conformance_tests.drawing.regimes import Regime
from veriformer.conformance_tests.drawing.space import EVERY_PALETTE, Space


@dataclass(frozen=True)
class VectorCase(BatchableCase):
    """One call of an operation on vectors along the last axis, or on each entry: softmax, norms, activations."""

    batch: int
    rows: int
    width: int
    dtype: str = "float32"
    palette: Palette = "bits"
    amplitude: int = 1
    eps: float = 1e-5
    seed: int = 0
    regimes: tuple[Regime, ...] = ()

    axes: ClassVar[tuple[str, ...]] = ("batch", "rows", "width")

    @property
    def numbers(self) -> int:
        return self.rows * self.width * 2

    def offered(self, fixed: FixedChoices, space: Space | None) -> Self:
        width = fixed.size("d_model", self.width, getattr(space, "least_width", 1))
        return replace(self, width=width, eps=fixed.one_of("eps", self.eps, self.seed))

    def describe(self) -> str:
        return f"batch {self.batch}, rows {self.rows}, width {self.width}, {self.dtype}"


@dataclass(frozen=True)
class VectorSpace(Space):
    """Cases of operations on vectors."""

    palettes: tuple[Palette, ...] = EVERY_PALETTE
    amplitudes: tuple[int, ...] = (1, 4)
    least_rows: int = 1
    least_width: int = 1


# Batch, rows, width, and the hidden units of a network, for frameworks that compile each: first the common ones, which
# every law has in all settings, then those that laws take in turn.
_VECTORS = ((1, 2, 3), (2, 3, 5), (3, 2, 17), (3, 2, 1), (1, 3, 65), (2, 1, 2))
_WIDTHS = (*range(1, 10), 16, 17, 64, 65)


def vector_cases(space: VectorSpace, limits: Limits) -> choices.Choice[VectorCase]:
    """Return cases of operations on vectors."""
    if limits.compiles_per_shape and not limits.small:
        rare = _VECTORS[2:][(limits.turn or 0) % len(_VECTORS[2:])]
        compiled = [*product(_VECTORS[:2], limits.dtypes), (rare, limits.dtypes[limits.seed % len(limits.dtypes)])]
        given = choices.in_some_order(compiled, limits.seed)
    else:
        few = choices.integers(1, 3)
        wide = few if limits.small else choices.in_some_order(_WIDTHS, limits.seed)
        given = choices.tuples(choices.tuples(few, few, wide), choices.sampled_from(limits.dtypes))
    return choices.builds(
        lambda *drawn: _vector_case(space, *drawn),
        given,
        choices.sampled_from(space.palettes),
        choices.sampled_from(space.amplitudes),
        choices.sampled_from((1e-5, 1e-3, 1e-1)),
        SEEDS,
    )


def _vector_case(
    space: VectorSpace,
    given: tuple[tuple[int, int, int], str],
    palette: Palette,
    amplitude: int,
    eps: float,
    seed: int,
) -> VectorCase:
    (batch, rows, width), dtype = given
    amplitude = min(amplitude, LARGEST_AMPLITUDE[dtype])
    rows, width = max(rows, space.least_rows), max(width, space.least_width)
    return VectorCase(batch, rows, width, dtype, palette, amplitude, eps, seed)
