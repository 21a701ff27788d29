"""What a step assumes beyond SymPy's own assumptions: ranges of indices, hypotheses on arrays, random "
"families."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sympy import Expr, IndexedBase, KroneckerDelta, Symbol
from veriformer.spec.derivations.expressions import Range


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

    def hypotheses(self) -> tuple[str, ...]:
        """What a step takes as given, in words: everything declared here that restricts its values."""
        given = [_fact_in_words(expression, value) for expression, value in self.facts.items()]
        given += [_block_in_words(block) for block in self.blocks]
        given += [f"{indicator} is 0 or 1" for indicator in sorted(map(str, self.indicators))]
        given += [f"{bijection} permutes {_range_in_words(own)}" for bijection, own in self.bijections.items()]
        given += [f"{symbol} = {value}" for symbol, value in self.parametrisation.items()]
        given += [f"{low} ≤ {index} ≤ {high}" for index, (low, high) in self.ranges.items()]
        return tuple(given)


def _fact_in_words(expression: Expr, value: Expr) -> str:
    if isinstance(expression, KroneckerDelta) and value == 0:
        return f"{expression.args[0]} ≠ {expression.args[1]}"
    return f"{expression} = {value}"


def _range_in_words(bounds: Range) -> str:
    return f"{bounds[0]}, …, {bounds[1]}"


def _block_in_words(block: Block) -> str:
    places = ["any index" if bounds is None else f"an index in {_range_in_words(bounds)}" for bounds in block.ranges]
    return f"{block.base} is {block.value} at {' and '.join(places)}"


EMPTY_CONTEXT = Context()
