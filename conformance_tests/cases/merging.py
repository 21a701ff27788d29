"""Choices of merging: an attention whose keys are divided in two."""

from __future__ import annotations

from itertools import product

from veriformer.conformance_tests.cases import choices
from veriformer.conformance_tests.cases.case import MergeCase, Palette
from veriformer.conformance_tests.cases.limits import LARGEST_AMPLITUDE, SEEDS, Limits
from veriformer.conformance_tests.cases.spaces import MergeSpace

Sizes = tuple[int, int, int, int, int]

# Batch, heads, length, keys, width: no two axes alike, because a framework that compiles gets no others.
_POOL: tuple[Sizes, ...] = ((2, 3, 5, 7, 4), (3, 2, 1, 9, 6), (1, 5, 9, 4, 2))
_SMALL: tuple[Sizes, ...] = tuple(product((1, 2), (1, 2), (1, 2), (2, 3), (1, 2)))
_FREE: tuple[Sizes, ...] = tuple(product((1, 2, 3), (1, 2, 3, 5), (1, 2, 5, 7, 17), (2, 3, 5, 8, 33), (1, 2, 4, 7, 16)))


def merge_cases(space: MergeSpace, limits: Limits) -> choices.Choice[MergeCase]:
    """Return cases of `merge_attention`."""
    given: choices.Choice[tuple[Sizes, str]]
    if limits.compiles_per_shape and not limits.small:
        given = choices.sampled_from(
            [(_POOL[at % len(_POOL)], dtype) for at, dtype in zip(limits.places, limits.dtypes_in_turn, strict=True)]
        )
    else:
        given = choices.tuples(
            choices.sampled_from(_SMALL if limits.small else _FREE), choices.sampled_from(limits.dtypes)
        )
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
