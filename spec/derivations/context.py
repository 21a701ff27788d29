"""The assumptions of a step beyond SymPy's own: ranges of indices, hypotheses on arrays, random families."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sympy import Expr, Indexed, IndexedBase, KroneckerDelta, Symbol
from veriformer.spec.derivations.expressions import Range
from veriformer.spec.derivations.printing import in_words


@dataclass(frozen=True)
class Block:
    """The hypothesis that every entry of `base` whose indices lie in `ranges` equals `value`.

    An axis whose range is None is not restricted. The causal indicator, for example, is 0 wherever the query
    lies in a prefix and the key after it.
    """

    base: IndexedBase
    ranges: tuple[Range | None, ...]
    value: int


@dataclass(frozen=True)
class RandomFamily:
    """Independent, identically distributed components X_1, X_2, …, described by moments only.

    `mean` and `deviation` (μ and σ) hold for every law with a second moment; `skewness` and `kurtosis` are the
    standardised third and fourth central moments, needed only where a step uses third or fourth powers.
    Different families are independent of one another.
    """

    base: IndexedBase
    mean: Expr
    deviation: Expr
    skewness: Expr | None = None
    kurtosis: Expr | None = None


@dataclass(frozen=True)
class Context:
    """The declared surroundings of a step. Each rule of the calculus names the field that it reads.

    ranges: free index → (lowest, highest value).
    bijections: function symbol → the range of which it is a bijection.
    indicators: arrays with entries 0 and 1 only.
    blocks: arrays that are constant where their indices lie in given ranges.
    splits: range → the last index of its first part; a sum over the range becomes a sum over each part.
    pairings: range (0, A·B − 1) → (A, B); an index that occurs only as quotient and remainder by B becomes a pair.
    facts: expression → its value, each established in an earlier step or assumed.
    parametrisation: symbol → expression in fresh symbols that expresses a constraint, such as γ = s + 1 + t for s < γ.
    families: random components.
    """

    ranges: Mapping[Symbol, Range] = field(default_factory=dict)
    bijections: Mapping[Any, Range] = field(default_factory=dict)
    indicators: frozenset[IndexedBase] = frozenset()
    blocks: tuple[Block, ...] = ()
    splits: Mapping[Range, Expr] = field(default_factory=dict)
    pairings: Mapping[Range, tuple[Expr, Expr]] = field(default_factory=dict)
    facts: Mapping[Expr, Expr] = field(default_factory=dict)
    parametrisation: Mapping[Symbol, Expr] = field(default_factory=dict)
    families: tuple[RandomFamily, ...] = ()

    def __post_init__(self) -> None:
        if wrong := [block for block in self.blocks if block.base in self.indicators and block.value not in (0, 1)]:
            raise ValueError(f"an array of 0 and 1 cannot be {wrong[0].value} anywhere: {_block_in_words(wrong[0])}")

    def hypotheses(self) -> tuple[str, ...]:
        """The assumptions of a step, in words: everything declared here that restricts its values."""
        given = [_fact_in_words(expression, value) for expression, value in self.facts.items()]
        given += [_block_in_words(block) for block in self.blocks]
        given += [f"every entry of {indicator} is 0 or 1" for indicator in sorted(map(in_words, self.indicators))]
        given += [f"{in_words(bijection)} permutes {range_in_words(own)}" for bijection, own in self.bijections.items()]
        given += [f"{in_words(symbol)} = {in_words(value)}" for symbol, value in self.parametrisation.items()]
        given += _families_in_words(self.families)
        given += [_bounds_in_words(index, own) for index, own in self.ranges.items()]
        return tuple(given)


def signs_in_words(expressions: Iterable[Expr]) -> tuple[str, ...]:
    """Which of the symbols and arrays that occur are positive, and which are not negative; sizes always are."""
    stated = list(expressions)
    arrays = {base.label for each in stated for base in each.atoms(IndexedBase)}
    leaves = {leaf for each in stated for leaf in each.free_symbols if not isinstance(leaf, Indexed)}
    given = [_sign_in_words(leaf, leaf in arrays) for leaf in sorted(leaves, key=str)]
    return tuple(dict.fromkeys(sorted(filter(None, given), key=lambda words: "≥" in words)))


def _sign_in_words(leaf: Symbol, array: bool) -> str:
    """That a symbol, or every entry of an array, is positive or not negative; nothing of what may be either."""
    name = f"every entry of {in_words(leaf)} is" if array else in_words(leaf)
    if leaf.is_positive:
        return "" if leaf.is_integer else f"{name} > 0"
    return f"{name} ≥ 0" if leaf.is_nonnegative else ""


def _families_in_words(families: tuple[RandomFamily, ...]) -> list[str]:
    """The assumptions on random components: which are independent, and their moments."""
    given = [_family_in_words(family) for family in families]
    pairs = itertools.combinations(families, 2)
    return given + [f"{in_words(one.base)} and {in_words(other.base)} are independent" for one, other in pairs]


def _family_in_words(family: RandomFamily) -> str:
    moments = {
        "mean": family.mean,
        "standard deviation": family.deviation,
        "skewness": family.skewness,
        "kurtosis": family.kurtosis,
    }
    given = [f"{name} {in_words(value)}" for name, value in moments.items() if value is not None]
    listed = f"{', '.join(given[:-1])} and {given[-1]}"
    return f"the components of {in_words(family.base)} are independent and identically distributed with {listed}"


def _fact_in_words(expression: Expr, value: Expr) -> str:
    if isinstance(expression, KroneckerDelta) and value == 0:
        return f"{in_words(expression.args[0])} ≠ {in_words(expression.args[1])}"
    return f"{in_words(expression)} = {in_words(value)}"


def _bounds_in_words(index: Symbol, bounds: Range) -> str:
    low, high = map(in_words, bounds)
    return f"{in_words(index)} = {low}" if low == high else f"{low} ≤ {in_words(index)} ≤ {high}"


def range_in_words(bounds: Range) -> str:
    """The whole numbers from the first bound to the last."""
    return f"{in_words(bounds[0])}, …, {in_words(bounds[1])}"


def _block_in_words(block: Block) -> str:
    names = "ij"[: len(block.ranges)]
    places = [_place_in_words(name, bounds) for name, bounds in zip(names, block.ranges, strict=True)]
    entry = in_words(block.base[tuple(Symbol(name, integer=True) for name in names)])
    return f"{entry} = {block.value} for {' and '.join(places)}"


def _place_in_words(name: str, bounds: Range | None) -> str:
    if bounds is None:
        return f"every {name}"
    return f"{name} = {in_words(bounds[0])}" if bounds[0] == bounds[1] else f"every {name} in {range_in_words(bounds)}"


EMPTY_CONTEXT = Context()
