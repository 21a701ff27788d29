"""What can be compared between a part and its siblings: one aspect each, with the step of the specification it is."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field

from veriformer.conformance_tests.recognition.findings import StepName

_TURNS = 2
# One layer among fewer others is an exception to them, and no turn.
_LEAST_OTHERS = 2
_LEAST_OTHERS_ALONE = 3


@dataclass(frozen=True)
class Aspect:
    """One thing that a part does, in one of several ways.

    `value` is how, comparable; `words` say it. `place` is the step of the trace where it is done. `mistake` is the slug
    of the catalogue for this way, or gives it from the siblings' value; "" where there is none. `alternates` names
    the group of ways that correct models take in turns, such as a window in every second layer; "" where there is none.
    `follows` names the aspect that the turns of this one go with, as rotations go with windows; "" where they go with
    none. `seldom` says that one layer in several may do it so.
    `rank` is higher for a way that is more usual. `from_first` says that all do it where the first does.
    `path` is the module that does it, where it is another than the part itself. `is_choice` says that correct models do
    it in any of these ways, so that one layer may be meant to, whatever mistake does the same.
    """

    name: str
    step: StepName
    value: Hashable
    words: str
    place: int
    mistake: str | Callable[[Hashable], str] = ""
    alternates: str = ""
    follows: str = ""
    seldom: bool = False
    rank: int = 0
    from_first: bool = False
    path: str = ""
    is_choice: bool = False


@dataclass(frozen=True)
class Sibling:
    """One of several parts that should be alike, with its aspects by name."""

    path: str
    layer: int | None
    aspects: dict[str, Aspect] = field(default_factory=dict)


@dataclass(frozen=True)
class OddOne:
    """A part that does one thing in another way than its siblings, or `out_of_turn` where they take turns.

    `others` are the siblings that do it in the usual way. Where no way is the usual one, that of the first is taken,
    and the difference `is_even`; so it is where ways come back in turns.
    """

    sibling: Sibling
    aspect: Aspect
    usual: Aspect
    others: tuple[Sibling, ...]
    out_of_turn: bool = False
    is_even: bool = False

    @property
    def departs(self) -> bool:
        """Whether it is a mistake where the siblings do otherwise, and not another way that may be meant."""
        return self.out_of_turn or bool(self.mistake and not self.aspect.is_choice)

    @property
    def mistake(self) -> str:
        """The slug of the mistake that the difference is; "" where it has none, or nobody knows which way is wrong."""
        if self.is_even:
            return ""
        slug = self.aspect.mistake
        return slug if isinstance(slug, str) else slug(self.usual.value)


def odd_ones(siblings: Sequence[Sibling]) -> list[OddOne]:
    """Return what parts do otherwise than most of their siblings.

    A way that comes back in turns is no exception, and of two parts that differ the one that does the less usual thing
    is named, if one does; else the later one.
    """
    names = dict.fromkeys(name for sibling in siblings for name in sibling.aspects)
    found: list[OddOne] = []
    for name in names:
        having = [one for one in siblings if name in one.aspects]
        # What the last one does may not show, as whether a norm comes after it that is the last of the model.
        last_is_open = len(having) == len(siblings) - 1 and having[-1] is not siblings[-1]
        found += _odd_in(name, having, last_is_open=last_is_open)
    return found


def _odd_in(name: str, having: Sequence[Sibling], *, last_is_open: bool) -> Iterator[OddOne]:
    """Yield the parts that do one thing otherwise."""
    aspects = [one.aspects[name] for one in having]
    values = [aspect.value for aspect in aspects]
    if len(set(values)) < 2 or _take_turns(name, having):
        return
    usual = values[0] if aspects[0].from_first else _usual(aspects)
    # What comes back in turns may be meant, and what may do so with the one that does not show.
    whole = [[*values, one] for one in set(values)] if last_is_open else [values]
    is_even = usual is None or any(map(_comes_back, whole))
    if usual is None:
        if len({aspect.words for aspect in aspects}) == 1:
            # Each has its own, and nothing can be said of the difference.
            return
        usual = values[0]
    expected = [usual] * len(values)
    turns = _turns_behind(aspects, usual)
    for one, aspect, wanted in zip(having, aspects, turns or expected, strict=True):
        if aspect.value != wanted:
            reference = aspects[values.index(wanted)]
            others = tuple(sibling for sibling, value in zip(having, values, strict=True) if value == wanted)
            yield OddOne(one, aspect, reference, others, out_of_turn=bool(turns), is_even=is_even)


def _usual(aspects: Sequence[Aspect]) -> Hashable | None:
    """Return the way that most parts do a thing; None where no way is the usual one."""
    values = [aspect.value for aspect in aspects]
    counted = sorted(set(values), key=lambda value: (-values.count(value), values.index(value)))
    if values.count(counted[0]) > values.count(counted[1]):
        return counted[0]
    ranks = {value: aspects[values.index(value)].rank for value in counted}
    best = sorted(counted, key=lambda value: ranks[value], reverse=True)
    return best[0] if ranks[best[0]] > ranks[best[1]] else None


def _turns_behind(aspects: Sequence[Aspect], usual: Hashable) -> list[Hashable]:
    """Return the turns that layers take with one exception; empty where they take none.

    One window among layers without any is no architecture, but windows in every second layer are, one of them lost.
    """
    values = [aspect.value for aspect in aspects]
    others = [value for value in values if value != usual]
    seldom = aspects[values.index(usual)].seldom
    groups = {aspect.alternates for aspect in aspects}
    if not seldom or len(others) != 1 or len(groups) != 1 or "" in groups or aspects[0].follows:
        return []
    phase = values.index(others[0]) % _TURNS
    turns = [others[0] if i % _TURNS == phase else usual for i in range(len(values))]
    return turns if sum(one != other for one, other in zip(values, turns, strict=True)) == 1 else []


def _take_turns(name: str, having: Sequence[Sibling]) -> bool:
    """Return whether correct models do a thing in two ways like these."""
    aspects = [one.aspects[name] for one in having]
    values = [aspect.value for aspect in aspects]
    if len({aspect.alternates for aspect in aspects}) > 1 or not aspects[0].alternates or len(set(values)) > _TURNS:
        return False
    if not aspects[0].follows:
        return len(values) == _TURNS or _repeat(values) or _one_in_several(aspects, _LEAST_OTHERS)
    return _go_with(name, having) or _one_in_several(aspects, _LEAST_OTHERS_ALONE)


def _go_with(name: str, having: Sequence[Sibling]) -> bool:
    """Return whether a thing is done in another way exactly where another thing is."""
    follows = having[0].aspects[name].follows
    if any(follows not in one.aspects for one in having):
        return False
    pairs = {(one.aspects[follows].value, one.aspects[name].value) for one in having}
    leading = {first for first, _ in pairs}
    return len(pairs) == len(leading) > 1


def _comes_back(values: Sequence[Hashable]) -> bool:
    """Return whether ways come back in whole turns, twice at least."""
    count = len(values)
    periods = (period for period in range(2, count // 2 + 1) if count % period == 0)
    return any(all(values[i] == values[i - period] for i in range(period, count)) for period in periods)


def _repeat(values: Sequence[Hashable]) -> bool:
    """Return whether ways come back with a period that is begun again."""
    count = len(values)
    periods = (period for period in range(2, count // 2 + 2) if period < count)
    return any(all(values[i] == values[i - period] for i in range(period, count)) for period in periods)


def _one_in_several(aspects: Sequence[Aspect], least_others: int) -> bool:
    """Return whether every nth layer, or the first of every n, does a thing in a way that few layers may have."""
    values = [aspect.value for aspect in aspects]
    for n in range(least_others + 1, len(values) + 1):
        for first in (n - 1, 0):
            chosen = {aspect.value for i, aspect in enumerate(aspects) if i % n == first and aspect.seldom}
            others = {value for i, value in enumerate(values) if i % n != first}
            if len(chosen) == len(others) == 1 and chosen != others:
                return True
    return False
