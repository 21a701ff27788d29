"""Cases of linear biases and of relative buckets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from veriformer.conformance_tests.drawing import choices
from veriformer.conformance_tests.drawing.case import Case
from veriformer.conformance_tests.drawing.limits import SEEDS, Limits
from veriformer.conformance_tests.drawing.pools import places_in
from veriformer.conformance_tests.drawing.space import Space


@dataclass(frozen=True)
class AlibiCase(Case):
    """One call of `alibi_bias`."""

    heads: int
    query_length: int
    key_length: int
    dtype: str = "float32"
    seed: int = 0

    axes: ClassVar[tuple[str, ...]] = ("heads", "query_length", "key_length")

    def describe(self) -> str:
        return f"heads {self.heads}, L = {self.query_length}, S = {self.key_length}"


@dataclass(frozen=True)
class BucketCase(Case):
    """One call of `relative_position_bucket`; relative positions are drawn between −`furthest` and `furthest`."""

    rows: int
    columns: int
    furthest: int
    bidirectional: bool | None = None
    num_buckets: int | None = None
    max_distance: int | None = None
    dtype: str = "float32"
    seed: int = 0

    axes: ClassVar[tuple[str, ...]] = ("rows", "columns")

    def describe(self) -> str:
        """Return the shape and the settings in one line."""
        given = (("num_buckets", self.num_buckets), ("max_distance", self.max_distance))
        settings = [f"{name} {value}" for name, value in given if value is not None]
        if self.bidirectional is not None:
            settings.append("bidirectional" if self.bidirectional else "one direction")
        return ", ".join([f"relative positions {self.rows} × {self.columns}, up to ±{self.furthest}", *settings])


@dataclass(frozen=True)
class AlibiSpace(Space):
    """Cases of `alibi_bias`, with at least as many keys as queries unless they are `square`."""

    heads: Literal["any", "power_of_two", "other"] = "any"
    square: bool = False
    more_keys: bool = False
    least_heads: int = 1
    least_length: int = 1


@dataclass(frozen=True)
class BucketSpace(Space):
    """Cases of `relative_position_bucket`."""

    direction: Literal["any", "both", "one"] = "any"
    least_columns: int = 1


Settings = tuple[bool | None, int | None, int | None]
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


def alibi_cases(space: AlibiSpace, limits: Limits) -> choices.Choice[AlibiCase]:
    """Return head counts and lengths of linear biases."""
    counts = {"any": (1, *range(1, 17)), "power_of_two": _POWERS_OF_TWO, "other": _OTHER_COUNTS}[space.heads]
    counts = tuple(count for count in counts if count >= space.least_heads)
    if limits.compiles_per_shape and not limits.small:
        pool = [
            (counts[index % len(counts)] if space.heads != "any" else max(heads, space.least_heads), queries, keys)
            for index in places_in(_ALIBI_POOL, limits)
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
        pool = [(_SHAPES[index], settings[(start + index) % len(settings)]) for index in places_in(_SHAPES, limits)]
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
