"""Zero test in a field of fractions: sums, entries and exponentials are opaque scalars, square roots are adjoined."""

from __future__ import annotations

import math
from fractions import Fraction
from random import Random
from typing import Any

import sympy
from sympy import Dummy, Expr, Indexed, KroneckerDelta, Pow, Sum, Symbol, exp

_MAXIMAL_ROOTS = 4


def is_zero_in_field(expression: Expr) -> bool:
    """Whether the expression vanishes for all values of its opaque scalars, by fraction arithmetic alone."""
    opaque = _name_opaque_scalars(expression, {})
    for _ in range(_MAXIMAL_ROOTS):
        base = _simplest_root_base(opaque)
        if base is None:
            break
        opaque = _adjoin_root(opaque, base)
    return not _differs_from_zero_somewhere(opaque) and bool(sympy.cancel(sympy.together(opaque)) == 0)


def _differs_from_zero_somewhere(expression: Expr) -> bool:
    """Whether exact arithmetic at a random rational point gives a value other than 0.

    Then the fraction is not 0, and the much slower cancellation need not find that out.
    """
    random = Random(0)
    point = {symbol: Fraction(random.randint(2, 99), random.randint(2, 99)) for symbol in _ordered_symbols(expression)}
    try:
        return _value_at(expression, point) != 0
    except (_NoFractionError, ZeroDivisionError):
        return False


def _value_at(expression: Expr, point: dict[Symbol, Fraction]) -> Fraction:
    """The value at a rational point; _NoFractionError where the expression is more than a fraction of polynomials."""
    if expression.is_Rational:
        return Fraction(int(expression.p), int(expression.q))
    if expression.is_Symbol:
        return point[expression]
    if expression.is_Add:
        return sum((_value_at(part, point) for part in expression.args), Fraction(0))
    if expression.is_Mul:
        return math.prod((_value_at(factor, point) for factor in expression.args), start=Fraction(1))
    if expression.is_Pow and expression.exp.is_Integer:
        return _value_at(expression.base, point) ** int(expression.exp)
    raise _NoFractionError


class _NoFractionError(ValueError):
    """An expression is not a fraction of polynomials."""


def _ordered_symbols(expression: Expr) -> list[Symbol]:
    return sorted(expression.free_symbols, key=sympy.default_sort_key)


def _name_opaque_scalars(expression: Expr, names: dict[Expr, Symbol]) -> Expr:
    if isinstance(expression, exp) and expression.args[0].could_extract_minus_sign():
        return 1 / _name_opaque_scalars(exp(-expression.args[0]), names)
    if isinstance(expression, Sum | Indexed | KroneckerDelta | exp):
        return names.setdefault(expression, Dummy(f"s{len(names)}", real=True))
    if not expression.args:
        return expression
    return expression.func(*[_name_opaque_scalars(argument, names) for argument in expression.args])


def _simplest_root_base(expression: Expr) -> Expr | None:
    """The simplest compound b of which a half-integer power occurs."""
    bases = {
        power.base
        for power in expression.atoms(Pow)
        if power.exp.is_Rational and power.exp.q == 2 and not power.base.is_number and not power.base.is_Symbol
    }
    return min(bases, key=lambda base: (base.count_ops(), str(base)), default=None)


def _adjoin_root(expression: Expr, base: Expr) -> Expr:
    """Write r = √b and eliminate a symbol of which b is a linear function, by solving b = r²."""
    root = Dummy("r", positive=True)
    linear = [symbol for symbol in sorted(base.free_symbols, key=str) if _is_linear(base, symbol)]
    if not linear:
        return expression
    symbol = next((choice for choice in linear if base.diff(choice).is_number), linear[0])
    slope = base.diff(symbol)
    solution: Any = (root**2 - base.xreplace({symbol: sympy.Integer(0)})) / slope
    powers = {power: root ** (2 * power.exp) for power in expression.atoms(Pow) if power.base == base}
    return expression.xreplace(powers).xreplace({symbol: solution})


def _is_linear(base: Expr, symbol: Symbol) -> bool:
    slope = sympy.cancel(base.diff(symbol))
    return slope != 0 and symbol not in slope.free_symbols
