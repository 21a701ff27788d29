"""Choices of what comes before and after the layers: tokens with a table, logits with targets."""

from __future__ import annotations

from itertools import product

from veriformer.conformance_tests.cases import choices
from veriformer.conformance_tests.cases.case import EmbeddingCase, IgnoreKind, LossCase, Palette, Reduction
from veriformer.conformance_tests.cases.limits import LARGEST_AMPLITUDE, SEEDS, Limits
from veriformer.conformance_tests.cases.spaces import EVERY_PALETTE, IGNORE_KINDS, EmbeddingSpace, LossSpace

Embedding = tuple[int, int, int, int]

# Batch, length, classes: no two axes alike, because a framework that compiles gets no others.
_POOL = ((2, 3, 5), (3, 4, 2), (1, 7, 17), (2, 3, 1), (1, 1, 3), (2, 4, 65))
_SMALL: tuple[tuple[int, int, int], ...] = tuple(product((1, 2), (1, 2, 3), (1, 2, 3)))
_CLASSES = (1, 2, 3, 4, 5, 7, 8, 9, 17, 33, 65)
# One target alone is a case like no other, which a run must meet though few sizes are it.
_FREE: tuple[tuple[int, int, int], ...] = (
    *2 * tuple(product((1,), (1,), _CLASSES)),
    *product((1, 2, 3), (1, 2, 3, 4, 7), _CLASSES),
)

# Batch, length, vocabulary, width.
_EMBEDDING_POOL = ((2, 3, 5, 4), (3, 4, 2, 7), (1, 7, 17, 3), (2, 3, 1, 5), (2, 1, 4, 4))
_SMALL_EMBEDDINGS: tuple[Embedding, ...] = tuple(product((1, 2), (1, 2), (1, 2, 3), (1, 2, 3)))
_FREE_EMBEDDINGS: tuple[Embedding, ...] = tuple(
    product((1, 2, 3), (1, 2, 3, 5, 9), (1, 2, 3, 5, 8, 17, 65), (1, 2, 3, 4, 7, 16))
)

Options = tuple[IgnoreKind, float | None, Reduction | None]
Compiled = tuple[tuple[int, int, int], Options, str]


def loss_cases(space: LossSpace, limits: Limits) -> choices.Choice[LossCase]:
    """Return cases of `cross_entropy`; what belongs together is drawn together, as for attention."""
    options = _options(space, limits)
    compiled: choices.Choice[Compiled]
    if limits.compiles_per_shape and not limits.small:
        compiled = choices.sampled_from(_pooled(options, limits))
    else:
        sizes = _SMALL if limits.small else _FREE
        compiled = choices.tuples(
            choices.sampled_from(sizes), choices.sampled_from(options), choices.sampled_from(limits.dtypes)
        )
    values = choices.sampled_from(tuple(product(space.amplitudes, space.palettes)))
    return choices.builds(lambda given, regime, seed: _loss_case(space, given, regime, seed), compiled, values, SEEDS)


def _pooled(options: list[Options], limits: Limits) -> list[Compiled]:
    """Return the few combinations that a law compiles; another law has others, so that a run meets them all."""
    return [
        (_POOL[at % len(_POOL)], options[at % len(options)], dtype)
        for at, dtype in zip(limits.places, limits.dtypes_in_turn, strict=True)
    ]


def _options(space: LossSpace, limits: Limits) -> list[Options]:
    """Return every combination of optional inputs that the space leaves open, the plainest first."""
    kinds: tuple[IgnoreKind, ...] = ("none",) if space.ignore != "always" else ()
    if space.ignore != "never" and "ignore_index" in limits.features:
        kinds += IGNORE_KINDS
    shares: tuple[float | None, ...] = (None,) if space.smoothing != "always" else ()
    if space.smoothing != "never" and "label_smoothing" in limits.features:
        shares += space.shares
    reductions = tuple(one for one in space.reductions if one is None or "reduction" in limits.features)
    return list(product(kinds, shares, reductions))


def _loss_case(space: LossSpace, given: Compiled, regime: tuple[int, Palette], seed: int) -> LossCase:
    (batch, length, classes), (ignore, smoothing, reduction), dtype = given
    amplitude, palette = regime
    length = max(length, space.least_length)
    return LossCase(
        batch=max(batch, space.least_batch),
        # Where a target is ignored another is kept, and a kept target needs another class than the ignored one.
        length=2 if ignore != "none" and batch * length == 1 else length,
        classes=max(classes, space.least_classes, 2 if ignore == "inside" else 1),
        dtype=dtype,
        palette=palette,
        amplitude=min(amplitude, LARGEST_AMPLITUDE[dtype]),
        ignore=ignore,
        label_smoothing=smoothing,
        reduction=reduction,
        seed=seed,
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
