"""What can be compared between a part and its siblings: one aspect each, with the step of the specification it is."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

from veriformer.conformance_tests.recognition.findings import StepName

_TURNS = 2
# One layer among fewer others is an exception to them, and no turn.
_LEAST_OTHERS = 3


@dataclass(frozen=True)
class Aspect:
    """One thing that a part does, in one of several ways.

    `value` is how, comparable; `words` say it. `place` is the step of the trace where it is done. `mistake` is the slug
    of the catalogue for this way, or gives it from the siblings' value; "" where there is none. `alternates` names
    the group of ways that correct models take in turns, such as a window in every second layer; "" where there is none.
    `rank` is higher for a way that is more usual.
    `path` is the module that does it, where it is another than the part itself.
    """

    name: str
    step: StepName
    value: Hashable
    words: str
    place: int
    mistake: str | Callable[[Hashable], str] = ""
    alternates: str = ""
    rank: int = 0
    path: str = ""


@dataclass(frozen=True)
class Sibling:
    """One of several parts that should be alike, with its aspects by name."""

    path: str
    layer: int | None
    aspects: dict[str, Aspect] = field(default_factory=dict)


@dataclass(frozen=True)
class OddOne:
    """A part that does one thing in another way than its siblings."""

    sibling: Sibling
    aspect: Aspect
    usual: Aspect
    count: int

    @property
    def mistake(self) -> str:
        """The slug of the mistake that the difference is; "" where it has none."""
        slug = self.aspect.mistake
        return slug if isinstance(slug, str) else slug(self.usual.value)


def odd_ones(siblings: Sequence[Sibling]) -> list[OddOne]:
    """Return what parts do otherwise than most of their siblings.

    A way that comes back in turns is no exception, and of two parts that differ the one that does the less usual thing
    is named, if one does.
    """
    names = dict.fromkeys(name for sibling in siblings for name in sibling.aspects)
    found: list[OddOne] = []
    for name in names:
        having = [sibling for sibling in siblings if name in sibling.aspects]
        values = [sibling.aspects[name].value for sibling in having]
        usual = _usual(having, name, values)
        if usual is None:
            continue
        reference = next(one.aspects[name] for one in having if one.aspects[name].value == usual)
        found.extend(
            OddOne(one, one.aspects[name], reference, values.count(usual))
            for one in having
            if one.aspects[name].value != usual
        )
    return found


def _usual(having: Sequence[Sibling], name: str, values: Sequence[Hashable]) -> Hashable | None:
    """Return the way that most parts do a thing; None where all do it alike, or no way is the usual one."""
    different = set(values)
    if len(different) < 2:
        return None
    groups = {one.aspects[name].alternates for one in having}
    if len(groups) == 1 and "" not in groups and _in_turns(values):
        return None
    counted = sorted(different, key=values.count, reverse=True)
    if values.count(counted[0]) > values.count(counted[1]):
        return counted[0]
    ranks = {
        value: next(one.aspects[name].rank for one in having if one.aspects[name].value == value) for value in counted
    }
    best = sorted(counted, key=lambda value: ranks[value], reverse=True)
    return best[0] if ranks[best[0]] > ranks[best[1]] else None


def _in_turns(values: Sequence[Hashable]) -> bool:
    """Return whether two ways are taken in turns: with a period that is begun again, or one in every nth layer."""
    if len(set(values)) > _TURNS:
        return False
    count = len(values)
    repeats = any(
        all(values[i] == values[i - period] for i in range(period, count))
        for period in range(2, count // 2 + 2)
        if period < count
    )
    return repeats or any(_in_every(n, values) for n in range(3, count + 1))


def _in_every(n: int, values: Sequence[Hashable]) -> bool:
    """Return whether every nth layer, or the first of every n, does it in one way, and all others in another."""
    for first in (n - 1, 0):
        chosen = {value for i, value in enumerate(values) if i % n == first}
        others = {value for i, value in enumerate(values) if i % n != first}
        if len(chosen) == len(others) == 1 and len(values) > n - 1 >= _LEAST_OTHERS:
            return True
    return False
