"""The few symbols that SymPy lacks, and a way of writing sums that cannot capture an index."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy
from sympy import Dummy, Expr, Function, Sum, Symbol

Range = tuple[Any, Any]


class DerivationError(ValueError):
    """A rule does not cover an expression; the message names both."""


class Expectation(Function):  # type: ignore[misc]
    """E[X], left unevaluated until the moment algebra or the enumeration of a discrete law takes it up."""

    nargs = 1

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        body = rf"\mathbb{{E}}\left[{printer._print(self.args[0])}\right]"
        return body if exp is None else rf"{body}^{{{exp}}}"


class Variance(Function):  # type: ignore[misc]
    """Var(X) = E[X²] − E[X]², left unevaluated."""

    nargs = 1

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        body = rf"\operatorname{{Var}}\left({printer._print(self.args[0])}\right)"
        return body if exp is None else rf"{body}^{{{exp}}}"


class Partial(Function):  # type: ignore[misc]
    """∂f/∂v for an entry v of an array, left unevaluated until the rules of differentiation take it up."""

    nargs = 2

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        function, variable = (printer._print(argument) for argument in self.args)
        body = rf"\frac{{\partial}}{{\partial {variable}}} \left({function}\right)"
        return body if exp is None else rf"\left({body}\right)^{{{exp}}}"


class Quotient(Function):  # type: ignore[misc]
    """⌊n / d⌋ for integers n ≥ 0 and d ≥ 1."""

    nargs = 2
    is_integer = True

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        numerator, divisor = (_latex_operand(printer, argument) for argument in self.args)
        body = rf"\left\lfloor {numerator} / {divisor} \right\rfloor"
        return body if exp is None else rf"{body}^{{{exp}}}"


class Remainder(Function):  # type: ignore[misc]
    """n mod d for integers n ≥ 0 and d ≥ 1."""

    nargs = 2
    is_integer = True

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        numerator, divisor = (_latex_operand(printer, argument) for argument in self.args)
        body = rf"{numerator} \bmod {divisor}"
        return body if exp is None else rf"\left({body}\right)^{{{exp}}}"


def _latex_operand(printer: Any, operand: Expr) -> str:
    body = str(printer._print(operand))
    return body if operand.is_Atom else rf"\left({body}\right)"


def total(summand: Callable[[Any], Expr], index: str, bounds: Range) -> Expr:
    """Write Σ summand(index) over lo ≤ index ≤ hi, priming the index where its name is already in use.

    SymPy's Sum binds whatever symbol it is given, also one that the summand uses for something else; here the
    summand is formed with an unused placeholder first, so that no index can be captured.
    """
    placeholder = Dummy(index, integer=True)
    body = sympy.sympify(summand(placeholder))
    taken = {symbol.name for symbol in body.atoms(Symbol) if symbol != placeholder}
    name = index
    while name in taken:
        name += "'"
    bound = Symbol(name, integer=True)
    summand_of_bound = body.xreplace({placeholder: bound})
    with sympy.evaluate(True):  # else SymPy writes a factor 1 before the summand
        return Sum(summand_of_bound, (bound, *bounds))


def entries(side: Any) -> list[Any]:
    """The scalar entries of a side of an equation, which is a scalar, a matrix or a product of such, row by row."""
    return list(sympy.Matrix(side)) if isinstance(side, sympy.MatrixBase | sympy.MatrixExpr) else [side]
