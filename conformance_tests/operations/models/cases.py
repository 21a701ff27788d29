"""Cases of whole Transformers and where they are drawn from."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, Literal

from veriformer.conformance_tests.drawing import choices
from veriformer.conformance_tests.drawing.case import Case
from veriformer.conformance_tests.drawing.space import Space

if TYPE_CHECKING:
    from veriformer.conformance_tests.drawing.limits import Limits

How = Literal["never", "sometimes", "always"]
Side = Literal["none", "right", "left"]
Values = Literal["bits", "integers", "normal"]
# Positions given to decoding: none, one for each column of all samples, or of each sample.
Positions = Literal["none", "shared", "each"]

_MOST_TOKENS = 7
_SIZES_TO_CHOOSE_FROM = 24
_LAYERS = (1, 1, 1, 2)
# Width, heads, key/value heads of an architecture that may group them; every head is two wide at least, for rotation.
_HEADS = ((4, 2, 1), (4, 1, 1), (8, 2, 2), (8, 4, 2), (6, 3, 1))
_SMALL_HEADS = ((2, 1, 1), (4, 2, 1), (4, 2, 2), (4, 1, 1))
# eps with the base of rotary positions, those that show first.
_NUMBERS = ((1e-1, 10.0), (1e-3, 10000.0))
_SEEDS = choices.integers(0, 2**16)


@dataclass(frozen=True)
class ModelCase(Case):
    """One call of an encoder, an encoder-decoder or a language model, or one chain of calls of a decoding.

    `source_length` is 0 without a source. `cuts` are the places at which decoding stops and continues, and there are
    `more_positions` than tokens, so that a table is never as long as a sequence.
    """

    architecture: str
    batch: int
    length: int
    width: int
    heads: int
    kv_heads: int
    hidden: int
    layers: int
    vocabulary: int
    source_length: int = 0
    cuts: tuple[int, ...] = ()
    padding: Side = "none"
    source_padding: Side = "none"
    positions: Positions = "none"
    more_positions: int = 2
    eps: float = 1e-3
    rotary_base: float = 10.0
    dtype: str = "float32"
    palette: Values = "integers"
    seed: int = 0

    @property
    def size(self) -> int:
        """How much there is to read: the sum of the sizes; a layer or a wider vector costs most."""
        lengths = self.batch + self.length + self.source_length + self.vocabulary + len(self.cuts)
        return lengths + 2 * self.width + self.hidden + 8 * self.layers

    def describe(self) -> str:
        heads = f"heads {self.heads}" + (f" on {self.kv_heads}" if self.kv_heads != self.heads else "")
        sizes = [self.architecture, f"batch {self.batch}", f"L = {self.length}"]
        sizes += [f"S = {self.source_length}"] if self.source_length else []
        sizes += [f"layers {self.layers}", f"E = {self.width}", heads, f"F = {self.hidden}", f"N = {self.vocabulary}"]
        padded = (("padding", self.padding), ("source padding", self.source_padding))
        settings = [f"{name} {side}" for name, side in padded if side != "none"]
        settings += [f"positions {self.positions}"] if self.positions != "none" else []
        settings += [f"cut before {', '.join(map(str, self.cuts))}"] if self.cuts else []
        return ", ".join([*sizes, *settings, f"eps {self.eps:g}", self.dtype])


@dataclass(frozen=True)
class ModelSpace(Space):
    """Cases of whole Transformers.

    `padding` is that of the tokens, or of the target; `sides` are where it may stand. `cuts` are how often decoding is
    interrupted: once, anywhere, before every token; with `positions` those of its tokens are given. `spare_tokens` of
    the vocabulary, its last, do not occur.
    """

    architectures: tuple[str, ...] = ()
    padding: How = "never"
    sides: tuple[Side, ...] = ("right", "left")
    source_padding: How = "never"
    cuts: Literal["none", "one", "any", "all"] = "none"
    positions: How = "never"
    least_batch: int = 1
    least_length: int = 1
    least_source: int = 1
    least_vocabulary: int = 2


_POOL = (ModelCase("", 2, 5, 4, 2, 1, 3, 1, 5, 4), ModelCase("", 3, 4, 8, 2, 2, 5, 2, 7, 6))

Settings = tuple[str, tuple[Side, Side], str]
Compiled = tuple[ModelCase, Settings]


def model_architectures(space: ModelSpace, limits: Limits) -> tuple[str, ...]:
    """Return the architectures that the space requires and the implementation has."""
    return tuple(name for name in limits.architectures if name in space.architectures or not space.architectures)


def model_cases(space: ModelSpace, limits: Limits) -> choices.Choice[ModelCase]:
    """Return cases of whole Transformers: sizes and architecture together, then values."""
    names = model_architectures(space, limits)
    settings = tuple(product(names, _paddings(space, limits), limits.dtypes))
    # A framework may compile for every configuration: only what it sees as arrays is then free.
    numbers = _NUMBERS[:1] if limits.compiles_per_shape else _NUMBERS
    if limits.compiles_per_shape and not limits.small:
        compiled: choices.Choice[Compiled] = choices.sampled_from(_pooled(space, limits, settings))
    else:
        drawn = _small_sizes(space) if limits.small else _free_sizes(space, limits.seed)
        compiled = choices.tuples(choices.sampled_from(drawn), choices.sampled_from(settings))
    values = choices.tuples(choices.sampled_from(("integers", "normal")), choices.sampled_from(numbers))
    return choices.builds(lambda *drawn: _case(space, limits, *drawn), compiled, values, _SEEDS)


def _pooled(space: ModelSpace, limits: Limits, settings: tuple[Settings, ...]) -> list[Compiled]:
    """Return few combinations, the same for all laws that allow them: a whole model takes a second to compile."""
    last = len(settings) - 1
    places = {last * at // max(limits.pool - 1, 1) for at in range(limits.pool)}
    return [(_fitted(_POOL[number % len(_POOL)], space), settings[at]) for number, at in enumerate(sorted(places))]


def _paddings(space: ModelSpace, limits: Limits) -> list[tuple[Side, Side]]:
    encoder_decoder = limits.operation.startswith("encoder_decoder")
    own = "target_padding_mask" if encoder_decoder else "padding_mask"
    # Left of a target's padding a decoder's queries see nothing; a source has none.
    allowed = tuple(side for side in space.sides if side == "right" or limits.left_padding)
    target = _sides(space.padding, ("right",) if encoder_decoder else allowed, own in limits.features)
    source = _sides(space.source_padding, ("right", "left"), "source_padding_mask" in limits.features)
    return list(product(target, source if encoder_decoder else ("none",)))


def _sides(how: How, sides: Sequence[Side], declared: bool) -> tuple[Side, ...]:
    if how == "never" or not declared:
        return ("none",)
    return tuple(sides) if how == "always" else ("none", *sides)


def _case(
    space: ModelSpace,
    limits: Limits,
    compiled: Compiled,
    values: tuple[Values, tuple[float, float]],
    seed: int,
) -> ModelCase:
    sizes, (architecture, (padding, source_padding), dtype) = compiled
    has_source = limits.operation.startswith("encoder_decoder")
    # Padding needs a place next to a real token.
    length = max(sizes.length, 2) if padding != "none" else sizes.length
    source = max(sizes.source_length, 2) if source_padding != "none" else sizes.source_length
    return ModelCase(
        architecture,
        sizes.batch,
        length,
        sizes.width,
        sizes.heads,
        sizes.kv_heads if architecture == "llama" else sizes.heads,
        sizes.hidden,
        sizes.layers,
        sizes.vocabulary,
        source_length=source if has_source else 0,
        cuts=_cuts(space, length, 0 if limits.compiles_per_shape else seed)
        if limits.operation == "decode_step"
        else (),
        padding=padding,
        source_padding=source_padding,
        positions=_positions(space, limits, 0 if limits.compiles_per_shape else seed),
        eps=values[1][0],
        rotary_base=values[1][1],
        dtype=dtype,
        palette=values[0],
        seed=seed,
    )


def _positions(space: ModelSpace, limits: Limits, seed: int) -> Positions:
    """Return how positions are given to decoding; it follows from the case's seed."""
    if space.positions == "never" or limits.operation != "decode_step" or "positions" not in limits.features:
        return "none"
    kinds: tuple[Positions, ...] = ("shared", "each") if space.positions == "always" else ("none", "shared", "each")
    return kinds[seed % len(kinds)]


def _cuts(space: ModelSpace, length: int, seed: int) -> tuple[int, ...]:
    """Return the places at which decoding is interrupted; they follow from the case's seed and length."""
    places = range(1, length)
    if space.cuts == "none" or not places:
        return ()
    if space.cuts == "all":
        return tuple(places)
    generator = random.Random(seed)
    count = 1 if space.cuts == "one" else generator.randint(1, len(places))
    return tuple(sorted(generator.sample(places, count)))


@lru_cache(maxsize=512)
def _free_sizes(space: ModelSpace, seed: int) -> tuple[ModelCase, ...]:
    generator = random.Random(seed)
    drawn = []
    for number in range(_SIZES_TO_CHOOSE_FROM):
        width, heads, kv_heads = generator.choice(_HEADS)
        sizes = ModelCase(
            "",
            generator.randint(1, 3),
            generator.randint(1, _MOST_TOKENS),
            width,
            heads,
            kv_heads,
            generator.choice((3, 5, 7, 10)),
            # State shared by layers shows only with two of them, and a law may have ten cases.
            max(generator.choice(_LAYERS), 1 + number % 2),
            generator.choice((3, 5, 7, 11)),
            generator.randint(1, _MOST_TOKENS),
        )
        drawn.append(_fitted(sizes, space))
    return tuple(sorted(dict.fromkeys(drawn), key=lambda case: case.size))


@lru_cache(maxsize=512)
def _small_sizes(space: ModelSpace) -> tuple[ModelCase, ...]:
    sizes = (
        _fitted(ModelCase("", batch, length, *heads, 2, layers, vocabulary, source), space)
        for batch, length, heads, layers, vocabulary, source in product(
            (1, 2), (1, 2, 3, 4), _SMALL_HEADS, (1, 2), (2, 3), (1, 3)
        )
    )
    return tuple(sorted(dict.fromkeys(sizes), key=lambda case: case.size))


def _fitted(sizes: ModelCase, space: ModelSpace) -> ModelCase:
    return ModelCase(
        "",
        max(sizes.batch, space.least_batch),
        max(sizes.length, space.least_length),
        sizes.width,
        sizes.heads,
        sizes.kv_heads,
        sizes.hidden,
        sizes.layers,
        max(sizes.vocabulary, space.least_vocabulary),
        max(sizes.source_length, space.least_source),
    )


def suited(case: ModelCase, key: str, _: Limits) -> ModelCase:
    """Return a case of the law's architecture, with the heads that it has."""
    if key.startswith("architecture."):
        case = replace(case, architecture=key.rpartition(".")[2])
    return case if case.architecture == "llama" else replace(case, kv_heads=case.heads)
