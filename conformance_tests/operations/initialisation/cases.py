"""Cases of the weights with which a model starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import ClassVar

from veriformer import reference
from veriformer.conformance_tests.drawing import choices
from veriformer.conformance_tests.drawing.case import Case
from veriformer.conformance_tests.drawing.limits import SEEDS, Limits
from veriformer.conformance_tests.drawing.space import Space


@dataclass(frozen=True)
class InitialCase(Case):
    """One call of `initial_weights`; `weights_seed` is the seed that the operation is given."""

    architecture: str
    layers: int
    width: int
    heads: int
    kv_heads: int
    hidden: int
    vocabulary: int
    weights_seed: int = 0
    dtype: str = "float32"
    seed: int = 0

    axes: ClassVar[tuple[str, ...]] = ("layers", "width", "heads", "hidden", "vocabulary")

    @property
    def config(self) -> reference.TransformerConfiguration:
        """The configuration, which has as many positions as tokens."""
        return reference.configure(
            self.architecture,  # type: ignore[arg-type]
            num_layers=self.layers,
            d_model=self.width,
            num_heads=self.heads,
            num_kv_heads=self.kv_heads,
            d_ff=self.hidden,
            vocabulary_size=self.vocabulary,
            max_length=self.vocabulary + 1,
        )

    def describe(self) -> str:
        heads = f"heads {self.heads}" + (f" on {self.kv_heads}" if self.kv_heads != self.heads else "")
        sizes = f"layers {self.layers}, E = {self.width}, {heads}, F = {self.hidden}, N = {self.vocabulary}"
        return f"{self.architecture}, {sizes}, seed {self.weights_seed}"


@dataclass(frozen=True)
class InitialSpace(Space):
    """Cases of `initial_weights`.

    Those of laws about chance have `many` entries, so that it decides little; they have at least so many layers,
    and with `deep` they are those with many layers.
    """

    many: bool = False
    deep: bool = False
    least_layers: int = 1


# Layers, width, heads, key/value heads where they may be fewer, hidden units, tokens. No width makes 1/n_in 0.02², and
# none of the hidden units is as many as the outputs of another projection.
Sizes = tuple[int, int, int, int, int, int]
_SMALL: tuple[Sizes, ...] = tuple(
    (layers, *heads, hidden, tokens)
    for layers, heads, hidden, tokens in product((1, 2), ((2, 1, 1), (4, 2, 1), (4, 2, 2)), (3, 5), (2, 3))
)
_FREE: tuple[Sizes, ...] = (*_SMALL, (3, 6, 3, 1, 10, 7), (1, 16, 2, 2, 24, 11), (2, 12, 3, 3, 17, 5))
_MANY: tuple[Sizes, ...] = (
    (2, 64, 8, 2, 160, 48),
    (1, 128, 4, 4, 320, 16),
    (3, 64, 4, 1, 224, 24),
    (1, 256, 4, 2, 384, 32),
    (2, 128, 16, 4, 96, 64),
    (4, 64, 2, 2, 96, 16),
    (1, 256, 8, 8, 640, 8),
    (2, 96, 6, 3, 256, 128),
)
_DEEP: tuple[Sizes, ...] = ((12, 32, 4, 2, 80, 8), (8, 48, 6, 3, 96, 8), (5, 64, 4, 4, 160, 8), (3, 128, 8, 2, 192, 8))
# The smallest in which most mistakes show.
_SMALL_MANY: tuple[Sizes, ...] = ((1, 64, 2, 1, 96, 8), (2, 64, 4, 2, 96, 8), (1, 128, 2, 2, 192, 8), _MANY[0])
_SMALL_DEEP = _DEEP[:2]
_SEEDS_OF_WEIGHTS = (1, 0, 2, 42, 1234, 20_000_001)


def initial_cases(space: InitialSpace, limits: Limits) -> choices.Choice[InitialCase]:
    """Return cases of `initial_weights`: sizes and architecture, then the seed."""
    sizes = [one for one in _sizes(space, limits) if one[0] >= space.least_layers]
    if limits.compiles_per_shape and not limits.small:
        sizes = [sizes[at % len(sizes)] for at in limits.places]
    return choices.builds(
        _initial_case,
        choices.sampled_from(sizes),
        choices.sampled_from(limits.architectures),
        choices.sampled_from(_SEEDS_OF_WEIGHTS),
        choices.sampled_from(limits.dtypes),
        SEEDS,
    )


def _sizes(space: InitialSpace, limits: Limits) -> Sequence[Sizes]:
    if space.deep:
        return _SMALL_DEEP if limits.small else _DEEP
    if space.many:
        return _SMALL_MANY if limits.small else _MANY
    return _SMALL if limits.small else _FREE


def _initial_case(sizes: Sizes, architecture: str, weights_seed: int, dtype: str, seed: int) -> InitialCase:
    layers, width, heads, kv_heads, hidden, vocabulary = sizes
    kv_heads = kv_heads if architecture == "llama" else heads
    # Rotary positions turn pairs.
    heads, kv_heads = (1, 1) if architecture == "llama" and width // heads % 2 else (heads, kv_heads)
    return InitialCase(architecture, layers, width, heads, kv_heads, hidden, vocabulary, weights_seed, dtype, seed)
