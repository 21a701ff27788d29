"""Cases of clipping by the norm of all gradients."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import ClassVar, Literal

from veriformer.conformance_tests.drawing import choices
from veriformer.conformance_tests.drawing.case import Case, Palette
from veriformer.conformance_tests.drawing.limits import SEEDS, Limits
from veriformer.conformance_tests.drawing.space import EVERY_PALETTE, Space

# Where the norm lies: all gradients zero, within the bound, a little within it, a little or far beyond it.
Bound = Literal["zero", "within", "just_within", "just_beyond", "beyond", "far_beyond"]
BEYOND: tuple[Bound, ...] = ("beyond", "far_beyond", "just_beyond")
# The bound as a share of the norm.
SHARE: dict[Bound, float] = {
    "zero": 1.0,
    "within": 3.0,
    "just_within": 1.05,
    "just_beyond": 0.95,
    "beyond": 0.4,
    "far_beyond": 0.004,
}


@dataclass(frozen=True)
class ClipCase(Case):
    """One call of `clip_by_global_norm`, on some arrays of different shapes.

    The values are those of a palette times 2^exponent, and each array is 2^spread times smaller than the one before.
    """

    arrays: int
    rows: int
    width: int
    dtype: str = "float32"
    palette: Palette = "bits"
    exponent: int = 0
    spread: int = 0
    bound: Bound = "beyond"
    seed: int = 0

    axes: ClassVar[tuple[str, ...]] = ("arrays", "rows", "width")

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of the arrays: those of a matrix, its bias, a single gain and a kernel, in turn."""
        in_turn = ((self.rows, self.width), (self.width,), (1,), (self.rows, 1, self.width))
        return tuple(in_turn[place % len(in_turn)] for place in range(self.arrays))

    def describe(self) -> str:
        shapes = ", ".join(map(str, self.shapes))
        scale = f" times 2^{self.exponent}" if self.exponent else ""
        spread = f", each 2^{self.spread} times smaller than the one before" if self.spread else ""
        return f"shapes {shapes}, {self.dtype}, {self.palette}{scale}{spread}, norm {self.bound.replace('_', ' ')}"


@dataclass(frozen=True)
class ClipSpace(Space):
    """Cases of `clip_by_global_norm`."""

    bounds: tuple[Bound, ...] = (*BEYOND, "within", "just_within", "zero")
    palettes: tuple[Palette, ...] = EVERY_PALETTE
    least_arrays: int = 1


Sizes = tuple[int, int, int]
_POOL: tuple[Sizes, ...] = ((3, 2, 5), (1, 3, 4), (5, 1, 3), (2, 4, 17))
_SMALL: tuple[Sizes, ...] = tuple(product((1, 2, 3), (1, 2), (1, 2)))
_FREE: tuple[Sizes, ...] = tuple(product((1, 2, 3, 5), (1, 2, 3), (1, 2, 3, 5, 17)))
# Gradients so small that 1e-6 is a share of their norm, and large ones.
_EXPONENTS = (0, -16, 6)
_SPREADS = (0, 6)


def clip_cases(space: ClipSpace, limits: Limits) -> choices.Choice[ClipCase]:
    """Return cases of `clip_by_global_norm`."""
    return choices.builds(
        lambda *drawn: _clip_case(space, *drawn),
        limits.sizes_and_dtypes(_POOL, _SMALL, _FREE),
        choices.sampled_from(space.bounds),
        choices.sampled_from(space.palettes),
        choices.sampled_from(_EXPONENTS),
        choices.sampled_from(_SPREADS),
        SEEDS,
    )


def _clip_case(
    space: ClipSpace,
    given: tuple[Sizes, str],
    bound: Bound,
    palette: Palette,
    exponent: int,
    spread: int,
    seed: int,
) -> ClipCase:
    """Return a case. In float16 the squares of larger values overflow, and those of smaller ones vanish."""
    (arrays, rows, width), dtype = given
    return ClipCase(
        max(arrays, space.least_arrays),
        rows,
        width,
        dtype,
        palette,
        0 if dtype == "float16" else exponent,
        min(spread, 3) if dtype == "float16" else spread,
        bound,
        seed,
    )
