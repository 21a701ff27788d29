"""The rules that simplify one term of a finite sum. Each is an identity, and each names the declaration it needs.

A rule returns the terms that replace its argument, or None where it does not apply.
"""

from __future__ import annotations

from typing import Any

import sympy
from sympy import Expr, Indexed, KroneckerDelta, Symbol
from veriformer.spec.derivations.context import Block, Context
from veriformer.spec.derivations.expressions import Quotient, Range, Remainder
from veriformer.spec.derivations.index_terms import (
    Canonicaliser,
    Term,
    distribute_product,
    fresh_index,
    multiply,
)

Terms = list[Term] | None


def substitute(term: Term, mapping: dict[Any, Any], canonical: Canonicaliser) -> list[Term]:
    """Replace inside the factors and distribute those that changed; the bound indices stay."""
    kept: list[Expr] = []
    changed: list[Expr] = []
    for factor in term.factors:
        replaced = factor.xreplace(mapping)
        (kept if replaced == factor else changed).append(replaced)
    rest = Term(term.coefficient, tuple(kept), term.bound)
    return [multiply(rest, product) for product in distribute_product(changed, canonical)]


def _without(term: Term, index: Symbol) -> Term:
    bound = {other: bounds for other, bounds in term.bound.items() if other != index}
    return Term(term.coefficient, term.factors, bound)


def _range_of(expression: Expr, term: Term, context: Context) -> Range | None:
    """The range in which an index expression is known to lie."""
    if expression in term.bound:
        return term.bound[expression]
    if expression in context.ranges:
        return context.ranges[expression]
    if expression.func in context.bijections and len(expression.args) == 1:
        bounds = context.bijections[expression.func]
        return bounds if _range_of(expression.args[0], term, context) == bounds else None
    return None


def collect_numbers(term: Term, context: Context, canonical: Canonicaliser) -> Terms:
    """Move numbers into the coefficient, open nested products, and drop a term whose coefficient is 0."""
    if term.coefficient == 0 and (term.factors or term.bound):
        return []
    if not any(factor.is_number or factor.is_Mul for factor in term.factors):
        return None
    coefficient, factors = term.coefficient, []
    for factor in term.factors:
        for part in sympy.Mul.make_args(factor):
            if part.is_number:
                coefficient *= part
            else:
                factors.append(part)
    return [Term(coefficient, tuple(factors), term.bound)]


def power_of_two_valued(term: Term, context: Context, canonical: Canonicaliser) -> Terms:
    """δ^p = δ, δ·δ = δ, and B^p = B for a declared indicator B: all are 0 or 1."""
    seen: list[Expr] = []
    for factor in term.factors:
        positive_power = factor.is_Pow and factor.exp.is_Integer and factor.exp > 0
        base = factor.base if positive_power else factor
        two_valued = isinstance(base, KroneckerDelta) or (isinstance(base, Indexed) and base.base in context.indicators)
        reduced = base if two_valued else factor
        if not (two_valued and reduced in seen):
            seen.append(reduced)
    return None if tuple(seen) == term.factors else [Term(term.coefficient, tuple(seen), term.bound)]


def known_facts(term: Term, context: Context, canonical: Canonicaliser) -> Terms:
    """Replace expressions that are declared to have a known value (`facts`)."""
    mapping = dict(context.facts)
    if not mapping or all(factor.xreplace(mapping) == factor for factor in term.factors):
        return None
    return substitute(term, mapping, canonical)


def known_blocks(term: Term, context: Context, canonical: Canonicaliser) -> Terms:
    """Replace an entry whose indices lie in ranges on which its array is declared constant (`blocks`)."""
    for block in context.blocks:
        for factor in term.factors:
            for entry in factor.atoms(Indexed) if factor.has(block.base) else ():
                if entry.base == block.base and _inside(entry, block, term, context):
                    return substitute(term, {entry: sympy.Integer(block.value)}, canonical)
    return None


def _inside(entry: Expr, block: Block, term: Term, context: Context) -> bool:
    pairs = zip(entry.indices, block.ranges, strict=True)
    return all(wanted is None or _range_of(index, term, context) == wanted for index, wanted in pairs)


def contract_delta(term: Term, context: Context, canonical: Canonicaliser) -> Terms:
    """Σ_i δ(i, j) f(i) = f(j), provided that j is known to lie in the range of i."""
    for delta in (factor for factor in term.factors if isinstance(factor, KroneckerDelta)):
        for index, other in (delta.args[:2], delta.args[1::-1]):
            if index in term.bound and _range_of(other, term, context) == term.bound[index]:
                factors = tuple(factor for factor in term.factors if factor != delta)
                contracted = _without(Term(term.coefficient, factors, term.bound), index)
                return substitute(contracted, {index: other}, canonical)
    return None


def align_delta(term: Term, context: Context, canonical: Canonicaliser) -> Terms:
    """f(b) δ(a, b) = f(a) δ(a, b) for free indices a, b: write every other factor with the earlier of the two."""
    for delta in (factor for factor in term.factors if isinstance(factor, KroneckerDelta)):
        first, second = sorted(delta.args[:2], key=str)
        if not (first.is_Symbol and second.is_Symbol) or first in term.bound or second in term.bound:
            continue
        others = Term(term.coefficient, tuple(factor for factor in term.factors if factor != delta), term.bound)
        if others.occurs(second):
            replaced = substitute(others, {second: first}, canonical)
            return [Term(new.coefficient, (delta, *new.factors), new.bound) for new in replaced]
    return None


def reindex(term: Term, context: Context, canonical: Canonicaliser) -> Terms:
    """Σ_j F(π(j)) = Σ_j F(j) for a declared bijection π of the range of j, when j occurs only inside π(j)."""
    for bijection, bounds in context.bijections.items():
        for index in (index for index, own in term.bound.items() if own == bounds and term.occurs(index)):
            hole = {bijection(index): sympy.Integer(0)}
            if not any(index in factor.xreplace(hole).free_symbols for factor in term.factors):
                return substitute(term, {bijection(index): index}, canonical)
    return None


def single_value(term: Term, context: Context, canonical: Canonicaliser) -> Terms:
    """A sum over one value of its index is the summand at that value."""
    for index, (low, high) in term.bound.items():
        if low == high:
            return substitute(_without(term, index), {index: low}, canonical)
    return None


def pair_index(term: Term, context: Context, canonical: Canonicaliser) -> Terms:
    """Σ over 0 ≤ c < AB of F(⌊c/B⌋, c mod B) = Σ_r Σ_a F(r, a), since c ↦ (⌊c/B⌋, c mod B) is a bijection."""
    for index, bounds in term.bound.items():
        if bounds not in context.pairings or not term.occurs(index):
            continue
        outer_size, inner_size = context.pairings[bounds]
        outer, inner = fresh_index(), fresh_index()
        mapping = {Quotient(index, inner_size): outer, Remainder(index, inner_size): inner}
        if any(index in factor.xreplace(mapping).free_symbols for factor in term.factors):
            continue
        pair = {outer: (sympy.Integer(0), outer_size - 1), inner: (sympy.Integer(0), inner_size - 1)}
        paired = _without(term, index)
        return substitute(Term(paired.coefficient, paired.factors, paired.bound | pair), mapping, canonical)
    return None


def split_range(term: Term, context: Context, canonical: Canonicaliser) -> Terms:
    """Σ over lo..hi = Σ over lo..mid + Σ over mid+1..hi, where the split is declared."""
    for index, bounds in term.bound.items():
        if bounds in context.splits:
            middle = context.splits[bounds]
            parts = ((bounds[0], middle), (middle + 1, bounds[1]))
            return [Term(term.coefficient, term.factors, {**term.bound, index: part}) for part in parts]
    return None


def count_unused(term: Term, context: Context, canonical: Canonicaliser) -> Terms:
    """Σ over lo..hi of 1 = hi − lo + 1."""
    for index, (low, high) in term.bound.items():
        if not term.occurs(index):
            reduced = _without(term, index)
            return [Term(reduced.coefficient * (high - low + 1), reduced.factors, reduced.bound)]
    return None


RULES = (
    collect_numbers,
    power_of_two_valued,
    known_facts,
    contract_delta,
    align_delta,
    reindex,
    single_value,
    pair_index,
    split_range,
    known_blocks,
    count_unused,
)


def reduce_term(term: Term, context: Context, canonical: Canonicaliser) -> list[Term]:
    """Apply the rules until none applies. Each application removes an index, a δ, or a declared pattern."""
    for rule in RULES:
        replacement = rule(term, context, canonical)
        if replacement is not None:
            return [final for new in replacement for final in reduce_term(new, context, canonical)]
    return [term]
