"""Cases of rotary embeddings."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import prod
from typing import Any

from veriformer.conformance_tests.drawing import choices
from veriformer.conformance_tests.drawing.case import BatchableCase, Palette
from veriformer.conformance_tests.drawing.limits import SEEDS, Limits
from veriformer.conformance_tests.drawing.pools import places_in
from veriformer.conformance_tests.drawing.regimes import Regime
from veriformer.conformance_tests.drawing.space import EVERY_PALETTE, How, Space


@dataclass(frozen=True)
class RotaryCase(BatchableCase):
    """One call of `rotary_embedding`; positions are drawn from 0 to `furthest`, for each sample if `per_sample`."""

    batch: int
    heads: int
    length: int
    width: int
    dtype: str = "float32"
    palette: Palette = "bits"
    amplitude: int = 1
    per_sample: bool = False
    furthest: int = 2
    base: float | None = None
    rotary_dim: int | None = None
    seed: int = 0
    regimes: tuple[Regime, ...] = ()

    @property
    def size(self) -> int:
        # A wider vector is harder to read than one row more: every component has an angle of its own.
        return self.batch + self.heads + self.length + 2 * self.width

    @property
    def numbers(self) -> int:
        return self.heads * self.length * self.width * 2

    def describe(self) -> str:
        sizes = f"batch {self.batch}, heads {self.heads}, L = {self.length}, D = {self.width}, {self.dtype}"
        given = (("base", self.base), ("rotary_dim", self.rotary_dim))
        settings = [f"{name} {value:g}" for name, value in given if value is not None]
        whose = "of each sample" if self.per_sample else "of all samples"
        return ", ".join([sizes, f"positions {whose} up to {self.furthest}", *settings])


@dataclass(frozen=True)
class RotarySpace(Space):
    """Cases of `rotary_embedding`. A rotary dimension that is always given is smaller than the width."""

    base: How = "sometimes"
    rotary_dim: How = "sometimes"
    per_sample: How = "sometimes"
    palettes: tuple[Palette, ...] = EVERY_PALETTE
    least_batch: int = 1
    least_heads: int = 1
    least_length: int = 1
    least_width: int = 2


# Within the tables of 2048 positions that implementations prepare, and beyond what 16 bits count to.
_FURTHEST = (2, 9, 300, 2000)
_BASES = (100.0, 500000.0, 10.0)
_LENGTHS = (1, 2, 3, 4, 5, 6, 7, 16, 17, 33)
_WIDTHS = (2, 4, 6, 8, 10, 16, 64)
_SHAPES_TO_CHOOSE_FROM = 48
# (batch, heads, length, width) for frameworks that compile each: no two axes alike.
_ROTARY_POOL = ((2, 3, 5, 8), (1, 2, 4, 6), (3, 1, 2, 16), (1, 1, 17, 4), (2, 2, 3, 2), (1, 5, 1, 64))


def rotary_cases(space: RotarySpace, limits: Limits) -> choices.Choice[RotaryCase]:
    """Return cases of rotary embeddings: shapes and keywords first, then values."""
    if limits.compiles_per_shape and not limits.small:
        compiled = choices.sampled_from(
            [_compiled_rotary(index, space, limits) for index in places_in(_ROTARY_POOL, limits)]
        )
    else:
        shapes = choices.sampled_from(_rotary_shapes(space, None if limits.small else limits.seed))
        compiled = choices.builds(_free_rotary, shapes, _keywords(space, limits), choices.sampled_from(limits.dtypes))
    values = choices.sampled_from(tuple(product(_FURTHEST, space.palettes, (1, 4))))
    return choices.builds(_rotary_case, compiled, values, SEEDS)


@lru_cache(maxsize=256)
def _rotary_shapes(space: RotarySpace, seed: int | None) -> tuple[tuple[int, ...], ...]:
    """Return shapes to choose from, smallest first; without a seed all small enough to read at a glance."""
    drawn: Iterable[tuple[int, ...]] = product((1, 2), (1, 2), (1, 2, 3), (2, 4, 6))
    if seed is not None:
        generator = random.Random(seed)
        drawn = (
            (*(generator.randint(1, 3) for _ in range(2)), generator.choice(_LENGTHS), generator.choice(_WIDTHS))
            for _ in range(_SHAPES_TO_CHOOSE_FROM)
        )
    return tuple(sorted(dict.fromkeys(_fitted(shape, space) for shape in drawn), key=prod))


def _fitted(shape: Sequence[int], space: RotarySpace) -> tuple[int, ...]:
    least = (space.least_batch, space.least_heads, space.least_length, space.least_width)
    return tuple(max(pair) for pair in zip(shape, least, strict=True))


def _keywords(space: RotarySpace, limits: Limits) -> choices.Choice[dict[str, Any]]:
    """Return the optional inputs: a base, how much of the rotary dimension is left out, positions of each sample."""
    bases = _choices(space.base, _BASES, "base" in limits.features)
    parts = _choices(space.rotary_dim, (1, 2), "rotary_dim" in limits.features)
    samples = {"never": (False,), "sometimes": (False, True), "always": (True,)}[space.per_sample]
    combined = product(samples, bases, parts)
    return choices.sampled_from([{"per_sample": own, "base": base, "part": part} for own, base, part in combined])


def _choices(how: How, values: tuple[Any, ...], offered: bool) -> tuple[Any, ...]:
    if not offered or how == "never":
        return (None,)
    return values if how == "always" else (None, *values)


def _free_rotary(shape: tuple[int, ...], keywords: dict[str, Any], dtype: str) -> RotaryCase:
    width, part = shape[3], keywords["part"]
    # 1 leaves two components unrotated, 2 all but two; if none can be left, all turn.
    turned = {None: None, 1: max(width - 2, 2), 2: 2}[part]
    batch, heads, length, _ = shape
    own, base = keywords["per_sample"], keywords["base"]
    return RotaryCase(batch, heads, length, width, dtype, per_sample=own, base=base, rotary_dim=turned)


def _compiled_rotary(index: int, space: RotarySpace, limits: Limits) -> RotaryCase:
    """Return one entry of the pool: keywords come in turn, so that few combinations are ever compiled."""
    odd = index % 2 == 1
    own = space.per_sample == "always" or (space.per_sample == "sometimes" and odd)
    base = _choices(space.base, _BASES, "base" in limits.features)[-1] if odd or space.base == "always" else None
    parts = _choices(space.rotary_dim, (1, 2), "rotary_dim" in limits.features)
    part = parts[-1 - index % len(parts)] if space.rotary_dim == "always" else parts[index % len(parts)]
    dtype = limits.dtypes[(index + limits.seed) % len(limits.dtypes)]
    shape = _fitted(_ROTARY_POOL[index], space)
    return _free_rotary(shape, {"per_sample": own, "base": base, "part": part}, dtype)


def _rotary_case(compiled: RotaryCase, values: tuple[int, Any, int], seed: int) -> RotaryCase:
    furthest, palette, amplitude = values
    changed = {"furthest": furthest, "palette": palette, "amplitude": amplitude, "seed": seed}
    return RotaryCase(**{**vars(compiled), **changed})
