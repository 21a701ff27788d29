"""Formulas as LaTeX and in one line: terms and factors as people order them, or as they were written.

SymPy orders by name: k_i q_i, −μ² + E[x²], (1 − p) p. Here a query stands before its key, a matrix before the one that
it is multiplied by, a name before a sum in brackets, and a positive term first where there is one.
"""

from __future__ import annotations

from typing import Any

import sympy
from sympy import Expr, Indexed, KroneckerDelta, Mul, Pow, Symbol
from sympy.core.function import _coeff_isneg
from sympy.printing.latex import LatexPrinter
from veriformer.pictures.formulas import one_line
from veriformer.spec.derivations.unicode_line import UnicodeLine


class _WrittenLatex(LatexPrinter):  # type: ignore[misc]
    """Terms in the order in which they were written, but a number behind what it is added to."""

    def _as_ordered_terms(self, expression: Any, order: str | None = None) -> list[Expr]:
        terms = list(expression.args)
        return [*terms[1:], terms[0]] if terms[0].is_Number else terms


class _OrderedLatex(LatexPrinter):  # type: ignore[misc]
    """Terms and factors in the order in which people write them."""

    def _as_ordered_terms(self, expression: Any, order: str | None = None) -> list[Expr]:
        terms = list(expression.as_ordered_terms())
        positive = [term for term in terms if not _coeff_isneg(term)]
        if not positive or terms[0] in positive:
            return terms
        return [positive[0], *(term for term in terms if term is not positive[0])]

    def _print_Mul(self, product: Any) -> str:  # noqa: N802  # SymPy calls it by this name
        coefficient, rest = product.as_coeff_Mul()
        if not (product.is_commutative and rest.is_Mul):
            return str(super()._print_Mul(product))
        factors = _in_order(rest.as_ordered_factors())
        whole = factors if abs(coefficient) == 1 else [abs(coefficient), *factors]
        printed = str(super()._print_Mul(Mul(*whole, evaluate=False)))
        return f"- {printed}" if coefficient.is_negative else printed


def _in_order(factors: list[Expr]) -> list[Expr]:
    """Return factors in SymPy's order, but each behind those that belong before it."""
    left, ordered = list(factors), []
    while left:
        free = (one for one in left if not any(_before(other, one) for other in left if other is not one))
        first = next(free, left[0])
        left.remove(first)
        ordered.append(first)
    return ordered


def _before(one: Expr, other: Expr) -> bool:
    """Return whether a factor belongs before another: a name before a sum, a query before its key, x_ij before W_jk."""
    first, second = _base(one), _base(other)
    if second.is_Add:
        return isinstance(first, Symbol | Indexed | KroneckerDelta)
    if _multiplies(first, second) or _multiplies(second, first):
        return _multiplies(first, second)
    return _as_key(_name(first)) == _name(second) != _name(first)


def _base(factor: Expr) -> Any:
    return factor.base if isinstance(factor, Pow) and factor.exp.is_positive else factor


def _multiplies(one: Any, other: Any) -> bool:
    """Return whether the columns of a matrix are the rows of another."""
    both = all(isinstance(each, Indexed) and len(each.indices) > 1 for each in (one, other))
    return both and one.indices[-1] == other.indices[-2]


def _name(base: Any) -> str:
    return str(base.base.label) if isinstance(base, Indexed) else base.name if isinstance(base, Symbol) else ""


def _as_key(name: str) -> str:
    """Return how a key's number is called where a query's is called so: k for q, mu_k for mu_q."""
    stem, mark, index = name.rpartition("_")
    return f"{stem}{mark}{ {'q': 'k', 'Q': 'K'}.get(index, index) }"


def as_latex(side: Any, as_written: bool = False) -> str:
    """A side of a statement in LaTeX."""
    # Factors stand as they are given: as they were written, or as they were ordered.
    printer = (_WrittenLatex if as_written else _OrderedLatex)({"order": "none"})
    return str(printer.doprint(sympy.sympify(side)))


def in_one_line(side: Any, as_written: bool = False) -> str:
    """A side of a statement as one line of Unicode."""
    return one_line(as_latex(side, as_written))


def in_words(expression: Any) -> str:
    """An expression in running text: x², √d_k, the names of Greek letters as letters."""
    return str(UnicodeLine().doprint(expression))
