"""Cases of token embeddings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import ClassVar, Self

from veriformer.conformance_tests.drawing import choices
from veriformer.conformance_tests.drawing.case import Case, Palette
from veriformer.conformance_tests.drawing.fixed import FixedChoices
from veriformer.conformance_tests.drawing.limits import SEEDS, Limits
from veriformer.conformance_tests.drawing.space import EVERY_PALETTE, How, Space


@dataclass(frozen=True)
class EmbeddingCase(Case):
    """One call of `token_embedding`."""

    batch: int
    length: int
    vocabulary: int
    width: int
    dtype: str = "float32"
    palette: Palette = "bits"
    scaled: bool = False
    seed: int = 0

    axes: ClassVar[tuple[str, ...]] = ("batch", "length", "vocabulary", "width")

    def offered(self, fixed: FixedChoices, space: Space | None) -> Self:
        return replace(
            self,
            length=fixed.length(self.length),
            vocabulary=fixed.size("vocabulary_size", self.vocabulary, getattr(space, "least_vocabulary", 1)),
            width=fixed.size("d_model", self.width),
        )

    def describe(self) -> str:
        sizes = f"batch {self.batch}, L = {self.length}, N = {self.vocabulary}, E = {self.width}, {self.dtype}"
        return f"{sizes}, scaled" if self.scaled else sizes


@dataclass(frozen=True)
class EmbeddingSpace(Space):
    """Cases of `token_embedding`; a vocabulary of two has another token to change to."""

    scaled: How = "never"
    least_positions: int = 1
    least_vocabulary: int = 1


Embedding = tuple[int, int, int, int]
# Batch, length, vocabulary, width.
_EMBEDDING_POOL = ((2, 3, 5, 4), (3, 4, 2, 7), (1, 7, 17, 3), (2, 3, 1, 5), (2, 1, 4, 4))
_SMALL_EMBEDDINGS: tuple[Embedding, ...] = tuple(product((1, 2), (1, 2), (1, 2, 3), (1, 2, 3)))
_FREE_EMBEDDINGS: tuple[Embedding, ...] = tuple(
    product((1, 2, 3), (1, 2, 3, 5, 9), (1, 2, 3, 5, 8, 17, 65), (1, 2, 3, 4, 7, 16))
)


def embedding_cases(space: EmbeddingSpace, limits: Limits) -> choices.Choice[EmbeddingCase]:
    """Return cases of `token_embedding`."""
    scaled = [False] if space.scaled != "always" else []
    if space.scaled != "never" and "scale_by_sqrt_d_model" in limits.features:
        scaled.append(True)
    given: choices.Choice[tuple[Embedding, bool, str]]
    if limits.compiles_per_shape and not limits.small:
        given = choices.sampled_from(
            [
                (_EMBEDDING_POOL[at % len(_EMBEDDING_POOL)], scaled[at % len(scaled)], dtype)
                for at, dtype in zip(limits.places, limits.dtypes_in_turn, strict=True)
            ]
        )
    else:
        sizes = _SMALL_EMBEDDINGS if limits.small else _FREE_EMBEDDINGS
        given = choices.tuples(
            choices.sampled_from(sizes), choices.sampled_from(scaled), choices.sampled_from(limits.dtypes)
        )
    palettes = choices.sampled_from(EVERY_PALETTE)
    return choices.builds(
        lambda drawn, palette, seed: _embedding_case(space, drawn, palette, seed), given, palettes, SEEDS
    )


def _embedding_case(
    space: EmbeddingSpace, given: tuple[Embedding, bool, str], palette: Palette, seed: int
) -> EmbeddingCase:
    (batch, length, vocabulary, width), scaled, dtype = given
    return EmbeddingCase(
        batch=batch,
        length=length if batch * length >= space.least_positions else space.least_positions,
        vocabulary=max(vocabulary, space.least_vocabulary),
        width=width,
        dtype=dtype,
        palette=palette,
        scaled=scaled,
        seed=seed,
    )
