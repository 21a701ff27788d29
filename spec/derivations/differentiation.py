"""Partial derivatives with respect to one entry of an array, under sums of symbolic length.

SymPy's own rule captures the index: the derivative of Sum(x[k], (k, 1, n)) by x[k] comes out as n, not 1. Here bound
indices are renamed apart first, and ∂x_i/∂x_k = δ(i, k).
"""

from __future__ import annotations

import sympy
from sympy import Expr, Indexed, KroneckerDelta, Sum
from veriformer.spec.derivations.expressions import DerivationError, Partial
from veriformer.spec.derivations.index_terms import fresh_index


def evaluate_partials(expression: Expr) -> Expr:
    """Carry out every unevaluated `Partial` in an expression."""
    if not expression.has(Partial):
        return expression
    arguments = [evaluate_partials(argument) for argument in expression.args]
    if isinstance(expression, Partial):
        return differentiate(*arguments)
    return expression.func(*arguments)


def differentiate(expression: Expr, variable: Expr) -> Expr:
    """∂expression/∂variable, where the variable is an array entry or a symbol that no sum binds.

    DerivationError where no rule is known for a function that contains the variable.
    """
    if not _contains(expression, variable):
        return sympy.Integer(0)
    if isinstance(expression, Indexed):
        return _entry_rule(expression, variable)
    if expression.is_Symbol:
        return sympy.Integer(1)
    if expression.is_Add:
        return sympy.Add(*[differentiate(part, variable) for part in expression.args])
    if expression.is_Mul:
        return _product_rule(expression, variable)
    if isinstance(expression, Sum):
        renaming = {index: fresh_index() for index, _, _ in expression.limits}
        limits = [(renaming[index], low, high) for index, low, high in expression.limits]
        return Sum(differentiate(expression.function.xreplace(renaming), variable), *limits)
    return _chain_rule(expression, variable)


def _contains(expression: Expr, variable: Expr) -> bool:
    if variable.is_Symbol:
        return variable in expression.free_symbols
    return bool(expression.has(variable.base))


def _entry_rule(entry: Expr, variable: Expr) -> Expr:
    """∂A[i, a]/∂A[k, b] = δ(i, k) δ(a, b)."""
    pairs = zip(entry.indices, variable.indices, strict=True)
    return sympy.Mul(*[KroneckerDelta(own, other) for own, other in pairs])


def _product_rule(product: Expr, variable: Expr) -> Expr:
    return sympy.Add(
        *[
            sympy.Mul(*product.args[:place], differentiate(factor, variable), *product.args[place + 1 :])
            for place, factor in enumerate(product.args)
        ]
    )


def _chain_rule(expression: Expr, variable: Expr) -> Expr:
    inner = expression.args[0]
    if expression.is_Pow and not _contains(expression.exp, variable):
        outer = expression.exp * inner ** (expression.exp - 1)
    elif isinstance(expression, sympy.exp):
        outer = expression
    elif isinstance(expression, sympy.log):
        outer = 1 / inner
    elif isinstance(expression, sympy.sin):
        outer = sympy.cos(inner)
    elif isinstance(expression, sympy.cos):
        outer = -sympy.sin(inner)
    elif isinstance(expression, sympy.erf):
        outer = 2 * sympy.exp(-(inner**2)) / sympy.sqrt(sympy.pi)
    else:
        raise DerivationError(f"no rule of differentiation is known for {expression}")
    return outer * differentiate(inner, variable)
