"""Sizes of attention cases: free ones, and a pool for frameworks that compile once for each shape."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass, replace
from functools import lru_cache
from itertools import chain, cycle, product
from math import prod
from typing import Any

from veriformer.conformance_tests.operations.attention.case import AttentionCase, AttentionSpace, MaskShape

# Lengths at which blocked kernels go wrong: one below, at, and one above the usual block sizes.
BLOCK_EDGES = ((7, 8, 9), (15, 16, 17), (31, 32, 33), (63, 64, 65))
_WIDTHS = (1, 2, 3, 4, 5, 7, 8, 16)
_POOL_SIZE = 32
# Self-attention is the common case, and confused axes show only if both are equally long.
_EQUAL_LENGTHS = 0.25
# What a counterexample is made shorter along, one after the other; a space or an implementation may tie axes together.
AXES = (("queries", "keys"), ("queries",), ("keys",), ("width", "value_width"), ("batch",), ("kv_heads",), ("group",))
SEPARATE_WIDTHS = (("width",), ("value_width",))
# The settings that a counterexample may do without, by the space's name for them.
_SETTINGS = {
    "mask": "mask",
    "is_causal": "causal",
    "bias": "bias",
    "scale": "scale",
    "window": "window",
    "softcap": "softcap",
    "sinks": "sinks",
}
_SHORTER = (*range(1, BLOCK_EDGES[0][0]), *chain.from_iterable(BLOCK_EDGES))


@dataclass(frozen=True)
class Sizes:
    """The sizes of one attention case; `group` query heads share each of the `kv_heads` key/value heads."""

    batch: int
    kv_heads: int
    group: int
    queries: int
    keys: int
    width: int
    value_width: int


@dataclass(frozen=True)
class Compiled:
    """Everything that a framework compiles for: sizes, the shape of a mask, and which optional inputs are there."""

    sizes: Sizes
    mask_shape: MaskShape
    extras: frozenset[str]
    dtype_index: int


# As different as possible, because each costs a compilation: no two axes equal, L < S and L > S, edges of blocks. A law
# takes as many from the front as it can afford; some laws take one of the others instead of their last.
_LAWS_FOR_A_RARE_ONE = 8
POOL = (
    Compiled(Sizes(2, 2, 2, 3, 5, 7, 6), "full", frozenset({"mask"}), 0),
    Compiled(Sizes(3, 2, 3, 9, 4, 5, 8), "keys_only", frozenset({"mask", "is_causal", "bias", "scale"}), 1),
    Compiled(Sizes(2, 3, 2, 7, 17, 8, 2), "lengths", frozenset(), 2),
    Compiled(Sizes(1, 1, 2, 16, 33, 2, 5), "shared_by_heads", frozenset({"mask", "scale"}), 3),
    Compiled(Sizes(2, 2, 2, 65, 8, 16, 7), "shared_by_batch", frozenset({"mask", "is_causal"}), 0),
    Compiled(Sizes(3, 3, 2, 1, 31, 1, 3), "keys_only", frozenset({"bias"}), 1),
)


def pooled(pool: int, turn: int | None) -> tuple[Compiled, ...]:
    """Return the entries that a law compiles for: the first ones, the last sometimes replaced by a rare one."""
    rare = POOL[pool:]
    if turn is None or turn % _LAWS_FOR_A_RARE_ONE or not rare:
        return POOL[:pool]
    return (*POOL[: pool - 1], rare[turn // _LAWS_FOR_A_RARE_ONE % len(rare)])


@lru_cache(maxsize=1024)
def free_sizes(space: AttentionSpace, seed: int) -> tuple[Sizes, ...]:
    """Return sizes to take in turn: others, or in another order, for another seed.

    Two lengths out of three are small; edges of blocks come in turn, so that twelve cases meet each size of block.
    """
    generator = random.Random(seed)
    queries, keys = _lengths(generator), _lengths(generator)

    # Each of these in turn as well: few calls meet some of them only if none is met twice.
    few = (1, 2, 3)
    heads = cycle(generator.sample(tuple(product(few, few)), len(few) ** 2))
    widths, value_widths = (cycle(generator.sample(_WIDTHS, len(_WIDTHS))) for _ in range(2))

    def lengths() -> tuple[int, int]:
        length, other = next(queries), next(keys)
        return length, length if generator.random() < _EQUAL_LENGTHS else other

    drawn = (
        Sizes(generator.choice(few), *next(heads), *lengths(), next(widths), next(value_widths))
        for _ in range(_POOL_SIZE)
    )
    return tuple(dict.fromkeys(fit(sizes, space) for sizes in drawn))


def _lengths(generator: random.Random) -> Iterator[int]:
    """Yield lengths without end: of each three one at the edge of a block, the block sizes in turn."""
    blocks = cycle(generator.sample(BLOCK_EDGES, len(BLOCK_EDGES)))
    while True:
        places = [generator.choice(next(blocks)), generator.randint(1, 7), generator.randint(1, 7)]
        generator.shuffle(places)
        yield from places


@lru_cache(maxsize=1024)
def small_sizes(space: AttentionSpace, *, grouped: bool) -> tuple[Sizes, ...]:
    """Return all sizes that a person takes in at a glance, smallest first; `grouped` if heads share keys."""
    two, three = (1, 2), (1, 2, 3)
    groups = two if grouped else (1,)
    drawn = (Sizes(*sizes) for sizes in product(two, two, groups, three, three, three, three))
    return smallest_first(dict.fromkeys(fit(sizes, space) for sizes in drawn))


def smallest_first(drawn: Iterable[Sizes]) -> tuple[Sizes, ...]:
    """Return sizes in the order in which a search should prefer them."""
    return tuple(sorted(drawn, key=lambda sizes: prod(astuple(sizes))))


def fit(sizes: Sizes, space: AttentionSpace) -> Sizes:
    """Return the sizes changed as little as the space demands; a function of both alone, so pools stay small."""
    queries = space.queries or max(sizes.queries, space.least_queries)
    keys = space.keys or max(sizes.keys, space.least_keys)
    if space.lengths == "equal":
        queries = keys = max(queries, keys)
    elif space.lengths == "keys_suffice":
        keys = max(queries, keys)
    elif space.lengths == "unequal" and queries == keys:
        keys += 1
    width = max(sizes.width, space.least_width)
    value_width = sizes.value_width
    if space.widths == "unequal" and value_width == width:
        value_width += 1
    return Sizes(max(sizes.batch, space.least_batch), *_fit_heads(sizes, space), queries, keys, width, value_width)


def _fit_heads(sizes: Sizes, space: AttentionSpace) -> tuple[int, int]:
    kv_heads, group = sizes.kv_heads, sizes.group
    if space.kv_heads == "one":
        kv_heads, group = 1, max(group, 2)
    if space.kv_heads == "all":
        group = 1
    if space.grouped:
        kv_heads, group = max(kv_heads, 2), max(group, 2)
    if space.heads is not None:
        kv_heads, group = 1, space.heads
    if kv_heads * group < space.least_heads:
        kv_heads = space.least_heads
    return kv_heads, group


def plainer(case: AttentionCase, space: AttentionSpace) -> Iterator[AttentionCase]:
    """Yield the cases of a space that are the given one without one of its settings."""
    for name, how in _SETTINGS.items():
        plain: Any = getattr(AttentionCase, name)
        if getattr(case, name) != plain and getattr(space, how) != "always":
            changes: dict[str, Any] = {"mask_shape": "full"} if name == "mask" else {}
            yield replace(case, **{name: plain}, **changes)


def shorter(case: AttentionCase, axes: tuple[str, ...], space: AttentionSpace) -> Iterator[AttentionCase]:
    """Yield the cases of a space that are the given one with shorter axes, the shortest first.

    Sizes are drawn from a choice with gaps, where a search stops at the first entry that fails; here only lengths
    between the edges of blocks are omitted.
    """
    sizes = Sizes(
        batch=case.batch,
        kv_heads=case.kv_heads,
        group=case.heads // case.kv_heads,
        queries=case.query_length,
        keys=case.key_length,
        width=case.head_width,
        value_width=case.value_width,
    )
    for length in _SHORTER:
        fitted = fit(replace(sizes, **dict.fromkeys(axes, length)), space)
        heads = fitted.kv_heads * fitted.group
        changed = replace(
            case,
            batch=fitted.batch,
            heads=heads,
            kv_heads=heads if case.kv_heads == case.heads else fitted.kv_heads,
            query_length=fitted.queries,
            key_length=fitted.keys,
            head_width=fitted.width,
            value_width=fitted.value_width,
        )
        if changed.size < case.size:
            yield changed
