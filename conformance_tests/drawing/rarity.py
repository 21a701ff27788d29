"""Rarities: sizes, values and arguments that real models have and that cases drawn at random do not meet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

from veriformer.conformance_tests.drawing.case import Case

# The argument, or a member by its path (`weights.b_1`), and its replacement: a kind of values by name, or a number.
Change = tuple[str, str | float]
# Values that float16 cannot hold, or whose products it cannot hold.
WIDE = ("huge", "large", "far_below", "hundred")


@dataclass(frozen=True)
class Rarity:
    """A case that one or more laws, named by their keys, try on purpose; each of them compares with the formula.
    Several laws take turns, so that each rarity is met once; in a thorough run all of them meet it. `fields` are those
    of the case, its sizes and flags; `needs` are the optional inputs that it has. `reach` is the first tier that
    includes it: 0 quick, 1 standard, 2 thorough.
    """

    laws: tuple[str, ...]
    fields: Mapping[str, Any] = field(default_factory=dict)
    changes: tuple[Change, ...] = ()
    needs: frozenset[str] = frozenset()
    reach: int = 0

    @property
    def is_wide(self) -> bool:
        """Whether float16 cannot hold its values."""
        return any(kind in WIDE for _, kind in self.changes)

    @property
    def is_subnormal(self) -> bool:
        """Whether its numbers are subnormal in float32."""
        return any(kind == "subnormal" for _, kind in self.changes)


@dataclass(frozen=True)
class RareCase:
    """A case with some arguments changed after drawing."""

    whole: Case
    changes: tuple[Change, ...] = ()

    @property
    def seed(self) -> int:
        """The seed of the case."""
        return self.whole.seed

    @property
    def dtype(self) -> str:
        """The dtype of the case."""
        return self.whole.dtype

    @property
    def size(self) -> int:
        """How much there is to read."""
        return self.whole.size

    def narrower(self) -> Iterator[RareCase]:
        """Yield the cases without one of the changes, of one sample, and of one row."""
        for change in self.changes:
            yield replace(self, changes=tuple(one for one in self.changes if not _go_together(one, change)))
        for name in ("batch", "rows"):
            if getattr(self.whole, name, 1) > 1:
                fewer: dict[str, Any] = {name: 1}
                yield replace(self, whole=replace(self.whole, **fewer))

    def describe(self) -> str:
        """Return the sizes and settings in one line."""
        return ", ".join([self.whole.describe(), *(_words(*change) for change in self.changes)])


def _go_together(one: Change, other: Change) -> bool:
    """Return whether the arguments must be changed together: arrays that have the same shape keep it."""
    return one == other or (one[1] == other[1] and str(one[1]).startswith("rank_"))


def _words(path: str, kind: str | float) -> str:
    return f"{path} {kind.replace('_', ' ')}" if isinstance(kind, str) else f"{path} {kind:g}"


def of_values(
    laws: tuple[str, ...], paths: str, kinds: str, needs: frozenset[str] = frozenset(), **fields: Any
) -> tuple[Rarity, ...]:
    """Return a rarity for each of the kinds of values (names apart by blanks) of each of the arguments."""
    return tuple(Rarity(laws, fields, ((path, kind),), needs) for path in paths.split() for kind in kinds.split())


def together(laws: tuple[str, ...], kinds: Mapping[str, str], **fields: Any) -> tuple[Rarity, ...]:
    """Return few rarities that between them have each kind of values of each argument: one kind of all in a case."""
    lists = {path: text.split() for path, text in kinds.items()}
    return tuple(
        Rarity(
            laws,
            fields,
            tuple((path, names[(number + place) % len(names)]) for place, (path, names) in enumerate(lists.items())),
        )
        for number in range(max(map(len, lists.values())))
    )


def of_sizes(
    laws: tuple[str, ...], name: str, lengths: tuple[int, ...], reach: int = 0, **fields: Any
) -> tuple[Rarity, ...]:
    """Return a rarity for each length of one field of the case, with the other fields as given."""
    return tuple(Rarity(laws, {**fields, name: length}, reach=reach) for length in lengths)


def without(*paths: str) -> tuple[Change, ...]:
    """Return the changes that take biases away."""
    return tuple((path, "absent") for path in paths)


def some_absent(laws: tuple[str, ...], paths: tuple[str, ...], **fields: object) -> tuple[Rarity, ...]:
    """Return a rarity for each bias that is there alone, and for each that alone is missing."""
    gone = (*combinations(paths, len(paths) - 1), *combinations(paths, 1))
    return tuple(Rarity(laws, {"biases": True, **fields}, without(*names)) for names in dict.fromkeys(gone))
