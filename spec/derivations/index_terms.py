"""Terms of a finite sum: coefficient × factors, summed over bound indices; and writing an expression as terms.

Every rule used here is an identity of finite sums over any ring: products distribute over sums, a sum may be pulled
out of a product once its index is renamed apart, and e^(a+b) = e^a e^b.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import sympy
from sympy import Dummy, Expr, Indexed, KroneckerDelta, Pow, Sum, Symbol, exp
from veriformer.spec.derivations.expressions import DerivationError, Range

Canonicaliser = Callable[[Expr], Expr]
_counter = itertools.count()


@dataclass(frozen=True)
class Term:
    """coefficient · Π factors, summed over every bound index within its range."""

    coefficient: Expr
    factors: tuple[Expr, ...]
    bound: dict[Symbol, Range]

    def occurs(self, index: Symbol) -> bool:
        """Whether the index occurs in any factor."""
        return any(index in factor.free_symbols for factor in self.factors)


def fresh_index() -> Symbol:
    """An index that occurs nowhere else."""
    return Dummy(f"b{next(_counter)}", integer=True)


def multiply(left: Term, right: Term) -> Term:
    """The product of two terms whose bound indices are different."""
    return Term(left.coefficient * right.coefficient, left.factors + right.factors, left.bound | right.bound)


def distribute_product(factors: Iterable[Expr], canonical: Canonicaliser) -> list[Term]:
    """The terms of a product: one for each choice of a term from each factor."""
    choices = [distribute(factor, canonical) for factor in factors]
    unit = Term(sympy.Integer(1), (), {})
    products = []
    for choice in itertools.product(*choices):
        product = unit
        for term in choice:
            product = multiply(product, term)
        products.append(product)
    return products


def distribute(expression: Expr, canonical: Canonicaliser) -> list[Term]:
    """Write an expression as terms; `canonical` normalises what stands inside powers and functions."""
    if expression.is_Add:
        return [term for part in expression.args for term in distribute(part, canonical)]
    if expression.is_Mul:
        return distribute_product(expression.args, canonical)
    if isinstance(expression, Sum):
        return _hoist_sum(expression, canonical)
    if expression.is_number:
        return [Term(expression, (), {})]
    if isinstance(expression, exp):
        return _distribute_exponential(expression, canonical)
    if expression.is_Atom or isinstance(expression, Indexed | KroneckerDelta):
        return [_opaque(expression)]
    if expression.is_Pow:
        return _distribute_power(expression, canonical)
    if not all(isinstance(argument, Expr) for argument in expression.args):
        raise DerivationError(f"the calculus of finite sums has no rule for {expression}")
    return [_opaque(expression.func(*[canonical(argument) for argument in expression.args]))]


def _opaque(*factors: Expr) -> Term:
    return Term(sympy.Integer(1), factors, {})


def _hoist_sum(expression: Expr, canonical: Canonicaliser) -> list[Term]:
    """Σ_i f, its index renamed apart so that the sum can be pulled out of any product."""
    renaming = {index: fresh_index() for index, _, _ in expression.limits}
    ranges = {renaming[index]: (low, high) for index, low, high in expression.limits}
    for low, high in ranges.values():
        if (low.free_symbols | high.free_symbols) & set(renaming):
            raise DerivationError(f"a range depends on another index of the same sum: {expression}")
    hoisted = []
    for term in distribute(expression.function.xreplace(renaming), canonical):
        inner = {symbol for low, high in term.bound.values() for symbol in low.free_symbols | high.free_symbols}
        if inner & set(ranges):
            raise DerivationError(f"an inner range depends on an outer index: {expression}")
        hoisted.append(Term(term.coefficient, term.factors, term.bound | ranges))
    return hoisted


def _distribute_exponential(expression: Expr, canonical: Canonicaliser) -> list[Term]:
    """e^(a+b) = e^a e^b, and e^(cδ) = 1 + (e^c − 1)δ because δ is 0 or 1."""
    argument = sympy.expand(expression.args[0])
    if argument.is_Add:
        return distribute_product([exp(part) for part in argument.args], canonical)
    deltas = [factor for factor in sympy.Mul.make_args(argument) if isinstance(factor, KroneckerDelta)]
    if deltas:
        chosen = exp(argument.xreplace({deltas[0]: sympy.Integer(1)}))
        return distribute(1 + (chosen - 1) * deltas[0], canonical)
    normal = canonical(argument)
    if normal.is_Add:
        return distribute_product([exp(part) for part in normal.args], canonical)
    return [_opaque(exp(normal))] if normal != 0 else [_opaque()]


def _distribute_power(expression: Expr, canonical: Canonicaliser) -> list[Term]:
    """A positive integer power is a product; any other power has its base normalised and is left alone."""
    base, exponent = expression.base, expression.exp
    if exponent.is_Integer and exponent > 0 and (base.is_Add or base.has(Sum)):
        return distribute_product([base] * int(exponent), canonical)
    power: Any = Pow(canonical(base), canonical(exponent))
    return [_opaque(*sympy.Mul.make_args(power))]
