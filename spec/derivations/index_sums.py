"""A normal form for finite sums of indexed terms over ranges of symbolic length, and the proof method built on it.

Two expressions are equal when the normal form of their difference is 0. The normal form is computed by identities
only: linearity, distributivity, renaming of bound indices, exchange of finite sums (Fubini), Σ_i δ(i,j) f(i) = f(j),
Σ 1 = length, and the rules of `index_rules`. It is sound, not complete: a failure to prove is not a refutation.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import sympy
from sympy import Expr, Sum, Symbol, srepr
from veriformer.spec.derivations.context import EMPTY_CONTEXT, Context
from veriformer.spec.derivations.differentiation import evaluate_partials
from veriformer.spec.derivations.expressions import Range
from veriformer.spec.derivations.index_rules import reduce_term
from veriformer.spec.derivations.index_terms import Term, distribute
from veriformer.spec.derivations.scalar_field import is_zero_in_field


class Normaliser:
    """Computes normal forms in one context, each part of an expression once."""

    def __init__(self, context: Context = EMPTY_CONTEXT) -> None:
        self.context = context
        self._known: dict[Expr, Expr] = {}

    def canonical(self, expression: Expr) -> Expr:
        """The normal form; DerivationError where the range of a sum depends on another bound index."""
        expression = sympy.sympify(expression)
        if expression not in self._known:
            self._known[expression] = self._compute(expression)
        return self._known[expression]

    def _compute(self, expression: Expr) -> Expr:
        if expression.is_Add:  # part by part, since altered statements share most parts with the true one
            return sympy.Add(*map(self.canonical, expression.args))
        number, rest = expression.as_coeff_Mul()
        if number not in (0, 1) and rest != 1:
            return sympy.Add(*[number * term for term in sympy.Add.make_args(self.canonical(rest))])
        terms = distribute(evaluate_partials(expression), self.canonical)
        return sympy.Add(
            *[_rebuild(final) for term in terms for final in reduce_term(term, self.context, self.canonical)]
        )

    def proves_equal(self, left: Expr, right: Expr) -> bool:
        """Whether left = right follows from the normal form and the arithmetic of fractions and square roots."""
        # The second pass cancels terms that only became comparable with canonical names of the bound indices.
        difference = self.canonical(self.canonical(left) - self.canonical(right))
        return bool(difference == 0) or is_zero_in_field(sympy.expand(difference))


def canonical(expression: Expr, context: Context = EMPTY_CONTEXT) -> Expr:
    """The normal form of an expression; DerivationError where a sum's range depends on another bound index."""
    return Normaliser(context).canonical(expression)


def proves_equal(left: Expr, right: Expr, context: Context = EMPTY_CONTEXT) -> bool:
    """Whether left = right follows from the normal form and the arithmetic of fractions and square roots."""
    return Normaliser(context).proves_equal(left, right)


def _rebuild(term: Term) -> Expr:
    """Coefficient × one sum for each group of factors that share bound indices (Fubini)."""
    free = [factor for factor in term.factors if not factor.free_symbols & set(term.bound)]
    result = term.coefficient * sympy.Mul(*free)
    for factors, indices in _connected_groups(term):
        result *= _named_sum(factors, {index: term.bound[index] for index in indices})
    return result


def _connected_groups(term: Term) -> Iterator[tuple[list[Expr], set[Symbol]]]:
    bound = set(term.bound)
    groups: list[tuple[list[Expr], set[Symbol]]] = []
    for factor in term.factors:
        indices = factor.free_symbols & bound
        if not indices:
            continue
        joined, separate = [factor], []
        for members, used in groups:
            if used & indices:
                joined, indices = members + joined, indices | used
            else:
                separate.append((members, used))
        groups = [*separate, (joined, indices)]
    yield from groups


def _named_sum(factors: list[Expr], bound: dict[Symbol, Range]) -> Expr:
    """The sum with canonical index names: of all orders of indices with equal range, the first in the alphabet.

    Names carry the nesting depth, so that a name never meets the same name bound further inside.
    """
    depth = max(_depth(factor) for factor in factors)
    by_range: dict[Range, list[Symbol]] = {}
    for index, bounds in bound.items():
        by_range.setdefault(bounds, []).append(index)
    ranges = sorted(by_range, key=str)
    summands = []
    for orders in itertools.product(*[itertools.permutations(by_range[bounds]) for bounds in ranges]):
        renaming = {
            index: _canonical_name(depth, group, place)
            for group, order in enumerate(orders)
            for place, index in enumerate(order)
        }
        summands.append(sympy.Mul(*[factor.xreplace(renaming) for factor in factors]))
    limits = [
        (_canonical_name(depth, group, place), *bounds)
        for group, bounds in enumerate(ranges)
        for place in range(len(by_range[bounds]))
    ]
    return Sum(min(summands, key=srepr), *limits)


def _canonical_name(depth: int, group: int, place: int) -> Symbol:
    return Symbol(f"_{depth}_{group}_{place}", integer=True)


def _depth(expression: Expr) -> int:
    return 1 + max(_depth(inner.function) for inner in expression.atoms(Sum)) if expression.has(Sum) else 0
