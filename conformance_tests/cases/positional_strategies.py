"""Choices of rotary embeddings, linear biases and relative buckets."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import product
from math import prod
from typing import Any

from veriformer.conformance_tests.cases import choices
from veriformer.conformance_tests.cases.case import AlibiCase, BucketCase, RotaryCase
from veriformer.conformance_tests.cases.limits import SEEDS, Limits
from veriformer.conformance_tests.cases.spaces import AlibiSpace, BucketSpace, How, RotarySpace

Settings = tuple[bool | None, int | None, int | None]

# Within the tables of 2048 positions that implementations prepare, and beyond what 16 bits count to.
_FURTHEST = (2, 9, 300, 2000)
_BASES = (100.0, 500000.0, 10.0)
_LENGTHS = (1, 2, 3, 4, 5, 6, 7, 16, 17, 33)
_WIDTHS = (2, 4, 6, 8, 10, 16, 64)
_SHAPES_TO_CHOOSE_FROM = 48
# (batch, heads, length, width) for frameworks that compile each: no two axes alike.
_ROTARY_POOL = ((2, 3, 5, 8), (1, 2, 4, 6), (3, 1, 2, 16), (1, 1, 17, 4), (2, 2, 3, 2), (1, 5, 1, 64))
_ALIBI_POOL = ((4, 3, 5), (6, 4, 4), (1, 1, 2), (12, 2, 9), (16, 5, 17), (3, 1, 1))
_POWERS_OF_TWO = (1, 2, 4, 8, 16)
_OTHER_COUNTS = (3, 5, 6, 7, 12, 20)
_SHAPES = ((1, 2), (3, 5), (1, 17), (2, 3), (1, 1), (4, 33))
# (bidirectional, num_buckets, max_distance), small ones first; 32 and 128 are those of T5.
_BUCKETS: tuple[Settings, ...] = (
    (True, 8, 16),
    (False, 8, 16),
    (True, 32, 128),
    (False, 32, 128),
    (False, 6, 50),
    (True, 20, 500),
    (False, 2, 5),
    (True, 4, 3),
)


def _pooled(pool: Sequence[object], limits: Limits) -> tuple[int, ...]:
    """Return the entries that a law compiles for: those in front, and last one that laws take turns at."""
    common = range(min(limits.pool, len(pool)))
    if limits.turn is None or limits.pool >= len(pool):
        return tuple(common)
    return (*common[:-1], limits.pool - 1 + limits.turn % (len(pool) - limits.pool + 1))


def rotary_cases(space: RotarySpace, limits: Limits) -> choices.Choice[RotaryCase]:
    """Return cases of rotary embeddings: shapes and keywords first, then values."""
    if limits.compiles_per_shape and not limits.small:
        compiled = choices.sampled_from(
            [_compiled_rotary(index, space, limits) for index in _pooled(_ROTARY_POOL, limits)]
        )
    else:
        shapes = choices.sampled_from(_rotary_shapes(space, None if limits.small else limits.seed))
        compiled = choices.builds(_free_rotary, shapes, _keywords(space, limits), choices.sampled_from(limits.dtypes))
    values = choices.sampled_from(tuple(product(_FURTHEST, space.palettes, (1, 4))))
    return choices.builds(_rotary_case, compiled, values, SEEDS)


@lru_cache(maxsize=256)
def _rotary_shapes(space: RotarySpace, seed: int | None) -> tuple[tuple[int, ...], ...]:
    """Return shapes to choose from, smallest first; without a seed all that a person takes in at a glance."""
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
    # 1 leaves two components as they are, 2 all but two; where nothing can be left, all turn.
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


def alibi_cases(space: AlibiSpace, limits: Limits) -> choices.Choice[AlibiCase]:
    """Return head counts and lengths of linear biases."""
    counts = {"any": (1, *range(1, 17)), "power_of_two": _POWERS_OF_TWO, "other": _OTHER_COUNTS}[space.heads]
    counts = tuple(count for count in counts if count >= space.least_heads)
    if limits.compiles_per_shape and not limits.small:
        pool = [
            (counts[index % len(counts)] if space.heads != "any" else max(heads, space.least_heads), queries, keys)
            for index in _pooled(_ALIBI_POOL, limits)
            for heads, queries, keys in _ALIBI_POOL[index : index + 1]
        ]
        return choices.sampled_from([_alibi_case(sizes, space) for sizes in dict.fromkeys(pool)])
    few = choices.integers(1, 3)
    length = few if limits.small else choices.one_of(few, choices.integers(1, 20))
    heads = choices.sampled_from(counts)
    return choices.tuples(heads, length, length).map(lambda sizes: _alibi_case(sizes, space))


def _alibi_case(sizes: tuple[int, int, int], space: AlibiSpace) -> AlibiCase:
    heads, *lengths = sizes
    queries, keys = (max(length, space.least_length) for length in sorted(lengths))
    if space.square:
        queries = keys
    return AlibiCase(heads, queries, keys + int(space.more_keys and queries == keys))


def bucket_cases(space: BucketSpace, limits: Limits) -> choices.Choice[BucketCase]:
    """Return shapes, settings and reaches of relative positions, near ones and such as exceed the last bucket."""
    settings = _BUCKETS
    if space.direction != "any":
        settings = tuple(choice for choice in settings if choice[0] is (space.direction == "both"))
    if not {"bidirectional", "num_buckets", "max_distance"} <= limits.features:
        settings = ((None, None, None),)
    if limits.compiles_per_shape and not limits.small:
        start = limits.turn or 0
        pool = [(_SHAPES[index], settings[(start + index) % len(settings)]) for index in _pooled(_SHAPES, limits)]
        chosen = choices.sampled_from(pool)
    else:
        rows = choices.integers(1, 2 if limits.small else 4)
        few, many = choices.integers(1, 3), choices.one_of(choices.integers(1, 8), choices.sampled_from((33, 64)))
        shapes = choices.tuples(rows, few if limits.small else many)
        chosen = choices.tuples(shapes, choices.sampled_from(settings))
    return choices.builds(lambda *drawn: _bucket_case(space, *drawn), chosen, choices.booleans(), SEEDS)


def _bucket_case(space: BucketSpace, chosen: tuple[tuple[int, int], Settings], far: bool, seed: int) -> BucketCase:
    (rows, columns), (bidirectional, buckets, distance) = chosen
    reach = 2 * (distance or 128) + 3 if far else (buckets or 32)
    columns = max(columns, space.least_columns)
    return BucketCase(rows, columns, reach, bidirectional, buckets, distance, seed=seed)
