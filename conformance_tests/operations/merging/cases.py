"""Cases of merged attention."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import ClassVar, Literal

from veriformer.conformance_tests.drawing import choices
from veriformer.conformance_tests.drawing.case import BatchableCase, Palette
from veriformer.conformance_tests.drawing.limits import LARGEST_AMPLITUDE, SEEDS, Limits
from veriformer.conformance_tests.drawing.regimes import Regime
from veriformer.conformance_tests.drawing.space import EVERY_PALETTE, Space

EmptyParts = Literal["none", "one", "both"]


@dataclass(frozen=True)
class MergeCase(BatchableCase):
    """One call of `merge_attention`: an attention over `keys` keys, divided in two.

    In half the rows one part, or both, are `empty`.
    """

    batch: int
    heads: int
    length: int
    keys: int
    width: int
    dtype: str = "float32"
    palette: Palette = "bits"
    amplitude: int = 1
    empty: EmptyParts = "none"
    seed: int = 0
    regimes: tuple[Regime, ...] = ()

    axes: ClassVar[tuple[str, ...]] = ("batch", "heads", "length", "keys", "width")

    @property
    def numbers(self) -> int:
        return self.heads * (self.length * self.keys + (self.length + self.keys) * self.width) * 2

    def describe(self) -> str:
        sizes = f"batch {self.batch}, heads {self.heads}, L = {self.length}, Dv = {self.width}, {self.dtype}"
        empty = "" if self.empty == "none" else f", rows of which {self.empty} {_PARTS[self.empty]} no keys"
        return f"{sizes}, {self.keys} keys divided in two{empty}"


_PARTS = {"one": "part has", "both": "parts have"}


@dataclass(frozen=True)
class MergeSpace(Space):
    """Cases of `merge_attention`."""

    empty: EmptyParts = "none"
    palettes: tuple[Palette, ...] = EVERY_PALETTE
    amplitudes: tuple[int, ...] = (1, 2)
    least_keys: int = 2


Sizes = tuple[int, int, int, int, int]
# Batch, heads, length, keys, width: no two axes alike, because a framework that compiles gets no others.
_POOL: tuple[Sizes, ...] = ((2, 3, 5, 7, 4), (3, 2, 1, 9, 6), (1, 5, 9, 4, 2))
_SMALL: tuple[Sizes, ...] = tuple(product((1, 2), (1, 2), (1, 2), (2, 3), (1, 2)))
_FREE: tuple[Sizes, ...] = tuple(product((1, 2, 3), (1, 2, 3, 5), (1, 2, 5, 7, 17), (2, 3, 5, 8, 33), (1, 2, 4, 7, 16)))


def merge_cases(space: MergeSpace, limits: Limits) -> choices.Choice[MergeCase]:
    """Return cases of `merge_attention`."""
    given = limits.sizes_and_dtypes(_POOL, _SMALL, _FREE)
    values = choices.sampled_from(tuple(product(space.amplitudes, space.palettes)))
    return choices.builds(lambda drawn, regime, seed: _merge_case(space, drawn, regime, seed), given, values, SEEDS)


def _merge_case(space: MergeSpace, given: tuple[Sizes, str], regime: tuple[int, Palette], seed: int) -> MergeCase:
    (batch, heads, length, keys, width), dtype = given
    amplitude, palette = regime
    return MergeCase(
        batch=batch,
        heads=heads,
        length=length,
        keys=max(keys, space.least_keys),
        width=width,
        dtype=dtype,
        palette=palette,
        amplitude=min(amplitude, LARGEST_AMPLITUDE[dtype]),
        empty=space.empty,
        seed=seed,
    )
