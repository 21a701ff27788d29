"""The assumptions of a step that divides: rows see a key, and no other denominator is 0."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import sympy
from sympy import Dummy, Expr, Indexed, KroneckerDelta, Sum, Symbol
from veriformer.spec.derivations.context import Context, range_in_words
from veriformer.spec.derivations.nonnegativity import manifestly_nonnegative
from veriformer.spec.derivations.printing import in_words

_ANY_OTHER = "no denominator is 0"


def nonzero_in_words(denominators: Iterable[Expr], context: Context) -> tuple[str, ...]:
    """That denominators are not 0, except for those that are positive by their form."""
    given = [_condition(each, context) for each in denominators if not is_positive_by_form(each, context)]
    return tuple(sorted(set(given), key=lambda words: (words == _ANY_OTHER, words)))


def denominators_of(sides: Iterable[Expr]) -> Iterator[Expr]:
    """Everything that a side divides by."""
    for side in sides:
        for part in sympy.preorder_traversal(side):
            if part.is_Pow and part.exp.could_extract_minus_sign():
                yield part.base


def is_positive_by_form(expression: Expr, context: Context) -> bool:
    """Whether the expression is > 0 by one of the rules below; False means only that no rule applies.

    What SymPy takes for positive, δ(i, l) summed over the range of i, sums over ranges that are not empty, sums of
    what is ≥ 0 with a positive part, products and powers of what is positive, and fractions of such.
    """
    if expression.is_positive:
        return True
    if isinstance(expression, Sum):
        return all(_has_places(low, high) for _, low, high in expression.limits) and _sums_up(expression, context)
    if expression.is_Add:
        parts = expression.args
        somewhere = any(is_positive_by_form(part, context) for part in parts)
        nowhere_less = all(manifestly_nonnegative(p, context) or is_positive_by_form(p, context) for p in parts)
        return (somewhere and nowhere_less) or bool(sympy.factor(sympy.together(expression)).is_positive)
    if expression.is_Pow:
        return is_positive_by_form(expression.base, context)
    return expression.is_Mul and all(is_positive_by_form(factor, context) for factor in expression.args)


def _has_places(low: Expr, high: Expr) -> bool:
    """Whether a range is not empty: sizes are written as 1 plus something ≥ 0, since SymPy does not know P + R ≥ 1."""
    length = sympy.sympify(high) - low
    sizes = {symbol for symbol in length.free_symbols if symbol.is_integer and symbol.is_positive}
    beyond_one = {symbol: 1 + Dummy(symbol.name, integer=True, nonnegative=True) for symbol in sizes}
    return bool(length.subs(beyond_one).is_nonnegative)


def _sums_up(expression: Sum, context: Context) -> bool:
    """Whether the summand is positive, or is where a Kronecker delta chooses one place of the range."""
    (index, low, high), *others = expression.limits
    factors = sympy.Mul.make_args(expression.function)
    chosen = [one for one in factors if isinstance(one, KroneckerDelta) and not others and index in one.args]
    if any((low, high) == context.ranges.get(other) for one in chosen for other in one.args):
        factors = tuple(factor for factor in factors if factor not in chosen)
    place = Dummy(index.name, integer=True, positive=low.is_positive, nonnegative=low.is_nonnegative)
    return all(is_positive_by_form(factor.xreplace({index: place}), context) for factor in factors)


def _condition(denominator: Expr, context: Context) -> str:
    """That a mask leaves something of a sum over keys, where it is one; else that the denominator is not 0."""
    if not isinstance(denominator, Sum) or len(denominator.limits) > 1:
        return _ANY_OTHER
    index, low, high = denominator.limits[0]
    powers = [factor.as_base_exp() for factor in sympy.Mul.make_args(denominator.function)]
    # What is divided by is a denominator of its own: here it counts as positive where it is not negative.
    multiplied = [base for base, exponent in powers if exponent != -1 or not manifestly_nonnegative(base, context)]
    masks = [base for base in multiplied if not is_positive_by_form(base, context)]
    if not all(isinstance(base, Indexed) and manifestly_nonnegative(base, context) for base in masks):
        return _ANY_OTHER
    name = Symbol("l", integer=True)
    product = " ".join(sorted(in_words(base.xreplace({index: name})) for base in masks))
    value = "= 1" if all(base.base in context.indicators for base in masks) else "> 0"
    return f"{product} {value} for some l in {range_in_words((low, high))}"
