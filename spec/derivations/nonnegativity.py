"""Expressions that are non-negative by their form alone: sums and products of such, even powers, exponentials."""

from __future__ import annotations

import sympy
from sympy import Expr, Indexed, KroneckerDelta, Sum
from veriformer.spec.derivations.context import EMPTY_CONTEXT, Context


def manifestly_nonnegative(expression: Expr, context: Context = EMPTY_CONTEXT) -> bool:
    """Whether the expression is ≥ 0 by one of the rules below; False means only that no rule applies.

    Numbers ≥ 0, symbols and arrays declared so, 0/1 arrays and δ, e^x and even powers of real x, powers of what is
    ≥ 0, sums and products of what is ≥ 0, 1 − δ, and for t ≥ 0 also erf t, 1 − erf t and 1 − e^(−t).
    """
    if expression.is_number:
        return bool(expression >= 0)
    if isinstance(expression, Indexed) and expression.base in context.indicators:
        return True
    if expression.is_Symbol or isinstance(expression, Indexed):
        return bool(expression.is_nonnegative)
    if isinstance(expression, KroneckerDelta):
        return True
    if isinstance(expression, sympy.exp):
        return is_real_by_form(expression.args[0])
    if isinstance(expression, sympy.erf):
        return manifestly_nonnegative(expression.args[0], context)
    if expression.is_Pow:
        even = expression.exp.is_Integer and expression.exp % 2 == 0 and is_real_by_form(expression.base)
        return bool(even) or (manifestly_nonnegative(expression.base, context) and is_real_by_form(expression.exp))
    if isinstance(expression, Sum):
        return manifestly_nonnegative(expression.function, context)
    if expression.is_Add:
        parts = expression.args
        return all(manifestly_nonnegative(part, context) for part in parts) or _is_one_minus(expression, context)
    return expression.is_Mul and all(manifestly_nonnegative(factor, context) for factor in expression.args)


def is_real_by_form(expression: Expr) -> bool:
    """Whether every leaf is real and every operation keeps real numbers real."""
    if expression.is_number:
        return bool(expression.is_real)
    if expression.is_Symbol or isinstance(expression, Indexed):
        return bool(expression.is_real)
    if isinstance(expression, KroneckerDelta):
        return True
    if isinstance(expression, Sum):
        return is_real_by_form(expression.function)
    if expression.is_Pow and not expression.exp.is_Integer:
        return manifestly_nonnegative(expression.base) and is_real_by_form(expression.exp)
    closed = expression.is_Add or expression.is_Mul or expression.is_Pow
    return (closed or isinstance(expression, sympy.exp | sympy.sin | sympy.cos)) and all(
        is_real_by_form(argument) for argument in expression.args
    )


def _is_one_minus(expression: Expr, context: Context) -> bool:
    """1 − δ ≥ 0; 1 − e^(−t) ≥ 0 and 1 − erf t ≥ 0 for t ≥ 0."""
    rest = 1 - expression
    if isinstance(rest, KroneckerDelta):
        return True
    if isinstance(rest, sympy.erf):
        return manifestly_nonnegative(rest, context)
    return isinstance(rest, sympy.exp) and manifestly_nonnegative(sympy.expand(-rest.args[0]), context)
