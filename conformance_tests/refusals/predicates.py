"""What refused calls may have in common: predicates of a call's features, each in few words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from typing import Protocol

from veriformer.conformance_tests.refusals.features import CallFeatures, Setting

# Sizes that implementations compare; others are equal by chance only.
_PAIRS = (("L", "S"), ("Dv", "D"), ("F", "E"), ("G", "H"), ("length", "d_model"), ("max_length", "B"))
_DIVISORS = (4, 8, 16, 32)
_GIVEN_WORDS = {
    "is_causal": "the causal flag",
    "mask": "a mask",
    "bias": "a bias",
    "biases": "biases",
    "padding_mask": "a padding mask",
    "memory_padding_mask": "a padding mask of the memory",
    "another context": "a context that is not x itself",
    "context": "a context other than x",
    "num_kv_heads": "num_kv_heads other than num_heads",
    "window": "a window",
    "window without a side": "None on a side of a window",
}
# Parts of the ids of laws about these.
_GIVEN_TOPICS = {
    "is_causal": ("causal",),
    "padding_mask": ("padding",),
    "num_kv_heads": ("grouped_heads",),
    "window without a side": ("unlimited",),
}
_TOPICS = {frozenset("LS"): ("unequal_lengths",), frozenset(("Dv", "D")): ("value_width",)}
_SIZE_TOPICS = {"B": ("batch",), "H": ("heads",), "L": ("queries",), "S": ("keys",)}


class Predicate(Protocol):
    """Something that is true of some calls."""

    @property
    def words(self) -> str:
        """What is refused, in words."""
        ...

    @property
    def topics(self) -> tuple[str, ...]:
        """The keywords, and parts of the ids of laws, that stand for it."""
        ...

    def holds(self, call: CallFeatures) -> bool:
        """Return whether it is true of a call."""
        ...


@dataclass(frozen=True)
class Given:
    """A keyword, or biases, given or not given."""

    name: str
    there: bool = True

    @property
    def words(self) -> str:
        """The words of the refusal."""
        name = _GIVEN_WORDS.get(self.name, self.name)
        return name if self.there else f"a call without {name.removeprefix('a ').removeprefix('the ')}"

    @property
    def condition(self) -> str:
        """The words that follow something else that is refused."""
        name = _GIVEN_WORDS.get(self.name, self.name)
        if not self.there:
            return f"without {name.removeprefix('a ')}"
        return f"{'under' if self.name == 'is_causal' else 'with'} {name}"

    @property
    def topics(self) -> tuple[str, ...]:
        """The keywords, and parts of the ids of laws, that stand for it."""
        return (self.name, *_GIVEN_TOPICS.get(self.name, ()))

    def holds(self, call: CallFeatures) -> bool:
        """Return whether it is true of a call."""
        return (self.name in call.given) is self.there


@dataclass(frozen=True)
class SettingIs:
    """A setting that has a value."""

    name: str
    value: Setting

    @property
    def words(self) -> str:
        """The words of the refusal."""
        if self.name == "dtype":
            return str(self.value)
        return f"a mask of rank {self.value}" if self.name == "mask rank" else f"{self.name}={self.value!r}"

    @property
    def condition(self) -> str:
        """The words that follow something else that is refused."""
        return f"{'in' if self.name == 'dtype' else 'with'} {self.words}"

    @property
    def topics(self) -> tuple[str, ...]:
        """The keywords, and parts of the ids of laws, that stand for it."""
        return (self.name,)

    def holds(self, call: CallFeatures) -> bool:
        """Return whether it is true of a call."""
        return call.settings.get(self.name) == self.value


@dataclass(frozen=True)
class SettingIsNot:
    """A setting with another value than those that are offered."""

    name: str
    values: tuple[Setting, ...]

    @property
    def words(self) -> str:
        """The words of the refusal."""
        return f"{self.name} other than {' or '.join(map(str, self.values))}"

    @property
    def topics(self) -> tuple[str, ...]:
        """The keywords, and parts of the ids of laws, that stand for it."""
        return (self.name,)

    def holds(self, call: CallFeatures) -> bool:
        """Return whether it is true of a call."""
        return self.name in call.settings and call.settings[self.name] not in self.values


@dataclass(frozen=True)
class Proportion:
    """A size that is not a certain part of another."""

    first: str
    ratio: Fraction
    second: str

    @property
    def words(self) -> str:
        """The words of the refusal."""
        return f"{self.first} other than {self.ratio}·{self.second}"

    @property
    def topics(self) -> tuple[str, ...]:
        """The keywords, and parts of the ids of laws, that stand for it."""
        return ()

    def holds(self, call: CallFeatures) -> bool:
        """Return whether it is true of a call."""
        if self.first not in call.sizes or self.second not in call.sizes:
            return False
        return call.sizes[self.first] != max(int(self.ratio * call.sizes[self.second]), 1)


@dataclass(frozen=True)
class Compared:
    """Two sizes, compared."""

    first: str
    relation: str
    second: str

    @property
    def words(self) -> str:
        """The words of the refusal."""
        return f"{self.first} {self.relation} {self.second}"

    @property
    def topics(self) -> tuple[str, ...]:
        """The keywords, and parts of the ids of laws, that stand for it."""
        return _TOPICS.get(frozenset((self.first, self.second)), ())

    def holds(self, call: CallFeatures) -> bool:
        """Return whether it is true of a call."""
        if self.first not in call.sizes or self.second not in call.sizes:
            return False
        first, second = call.sizes[self.first], call.sizes[self.second]
        return {">": first > second, "<": first < second, "≠": first != second, "=": first == second}[self.relation]


@dataclass(frozen=True)
class Sized:
    """A size of a kind: `odd`, `even`, `not divisible by n`, `not a power of two`, `= n`, `> n`, `other than n`, …"""

    name: str
    kind: str
    number: int = 0

    @property
    def words(self) -> str:
        """The words of the refusal."""
        if self.kind in ("odd", "even"):
            return f"{self.kind} {self.name}"
        if self.kind in (">", "<", "="):
            return f"{self.name} {self.kind} {self.number}"
        return f"{self.name} {self.kind}{f' {self.number}' if self.number else ''}"

    @property
    def topics(self) -> tuple[str, ...]:
        """The keywords, and parts of the ids of laws, that stand for it."""
        return _SIZE_TOPICS.get(self.name, ())

    def holds(self, call: CallFeatures) -> bool:
        """Return whether it is true of a call."""
        size = call.sizes.get(self.name)
        if size is None:
            return False
        return {
            "odd": size % 2 == 1,
            "even": size % 2 == 0,
            "=": size == self.number,
            ">": size > self.number,
            "<": size < self.number,
            "other than": size != self.number,
            "not a power of two": size & (size - 1) != 0,
            "not divisible by": bool(self.number) and size % self.number != 0,
        }[self.kind]


@dataclass(frozen=True)
class Both:
    """Something under a condition."""

    what: Predicate
    condition: Given | SettingIs

    @property
    def words(self) -> str:
        """The words of the refusal."""
        return f"{self.what.words} {self.condition.condition}"

    @property
    def topics(self) -> tuple[str, ...]:
        """The keywords, and parts of the ids of laws, that stand for it."""
        return (*self.what.topics, *self.condition.topics)

    def holds(self, call: CallFeatures) -> bool:
        """Return whether it is true of a call."""
        return self.condition.holds(call) and self.what.holds(call)


def candidates(calls: Sequence[CallFeatures], others: Sequence[CallFeatures]) -> list[Predicate]:
    """Return the predicates that may separate some of the calls from others, the simplest first."""
    given, settings = list(_given(calls)), list(_settings(calls))
    sizes: list[Predicate] = [*_compared(calls), *_sized(calls)]
    singles: list[Predicate] = [*given, *settings, *sizes, *_bounded([*calls, *others])]
    conditions: list[Given | SettingIs] = [*given, *settings]
    pairs = [Both(one, other) for one, other in combinations(conditions, 2) if one.name != other.name]
    return [*singles, *pairs, *(Both(size, condition) for size, condition in product(sizes, conditions))]


def _given(calls: Sequence[CallFeatures]) -> Iterator[Given]:
    names = sorted(set().union(*(call.given for call in calls)), key=lambda name: (name != "context", name))
    yield from (Given(name) for name in names)
    yield from (Given(name, there=False) for name in names)


def _settings(calls: Sequence[CallFeatures]) -> Iterator[SettingIs]:
    seen = {(name, value): None for call in calls for name, value in call.settings.items()}
    yield from (SettingIs(name, value) for name, value in sorted(seen, key=str))


def _names(calls: Iterable[CallFeatures]) -> list[str]:
    return list(dict.fromkeys(name for call in calls for name in call.sizes))


def _compared(calls: Sequence[CallFeatures]) -> Iterator[Compared]:
    names = _names(calls)
    for first, second in _PAIRS:
        if first in names and second in names:
            yield from (Compared(first, relation, second) for relation in (">", "<", "≠", "="))


def _sized(calls: Sequence[CallFeatures]) -> Iterator[Sized]:
    names = _names(calls)
    yield from (Sized(name, kind) for kind, name in product(("odd", "even"), names))
    yield from (Sized(name, ">", 1) for name in names)
    yield from (Sized(name, "=", 1) for name in names)
    yield from (Sized(name, "not divisible by", number) for number, name in product(_DIVISORS, names))
    yield from (Sized(name, "not a power of two") for name in names)


def _bounded(calls: Sequence[CallFeatures]) -> Iterator[Sized]:
    for name in _names(calls):
        values = sorted({call.sizes[name] for call in calls if name in call.sizes})
        yield from (Sized(name, ">", value) for value in values[1:-1])
        yield from (Sized(name, "<", value) for value in values[2:])
